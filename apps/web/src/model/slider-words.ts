/** The sliders of the what-if page in words. */
import { formatCount, formatMs } from './format.ts';
import type { WhatIfSettings } from './what-if.ts';
import { type Limit, limitNames } from './what-if-limits.ts';

interface SliderWords {
  label: string;
  format(value: number): string;
}

export const sliderWords: Readonly<Record<keyof WhatIfSettings, SliderWords>> = {
  instances: { label: 'Instances', format: formatCount },
  operations: { label: 'Operations per transaction', format: formatCount },
  subscribers: {
    label: 'Subscribers',
    format: (value) => (value === 0 ? 'none (queue)' : formatCount(value)),
  },
  payloadBytes: { label: 'Payload', format: (value) => `${formatCount(value)} bytes` },
  roundTripMs: {
    label: 'Client round trip',
    format: (value) => (value === 0 ? 'embedded' : formatMs(value)),
  },
  cores: { label: 'Cores per node', format: formatCount },
  syncUs: { label: 'Disk sync time', format: (us) => (us === 0 ? 'none' : formatMs(us / 1000)) },
};

/** All sliders in one line, and the limits that are removed: "Instances 4, Operations per transaction 10, …". */
export const settingsInWords = (settings: WhatIfSettings, without: readonly Limit[]): string =>
  [
    ...(Object.keys(sliderWords) as (keyof WhatIfSettings)[]).map((name) =>
      positionInWords(name, settings[name]),
    ),
    ...without.map((limit) => `${limitNames[limit]} removed`),
  ].join(', ');

/** "Disk sync time 20 ms"; null is the machine's own value. */
export function positionInWords(name: keyof WhatIfSettings, value: number | null): string {
  const { label, format } = sliderWords[name];
  return `${label} ${value === null ? 'of the machine' : format(value)}`;
}
