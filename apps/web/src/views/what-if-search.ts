/** What of the what-if page lies in its address: the machine, the run on top, and each slider that was moved. */
import { type MetricId, metricIds } from '../model/metrics.ts';
import { sliderSteps, type WhatIf, whatIfDefault } from '../model/what-if.ts';

export interface WhatIfSearch extends Partial<WhatIf> {
  hardware?: string;
  run?: string;
  metric?: MetricId;
}

/** Unknown values are dropped: an old link shows the page, not an error. */
export function readWhatIfSearch(search: Record<string, unknown>): WhatIfSearch {
  const read: WhatIfSearch = {};
  for (const name of Object.keys(sliderSteps) as (keyof WhatIf)[]) {
    const value = search[name];
    const most = sliderSteps[name].at(-1)!;
    const least = sliderSteps[name][0];
    if (typeof value === 'number' && value >= least && value <= most) read[name] = value;
  }
  const metric = metricIds.find((id) => id === search.metric);
  if (metric !== undefined) read.metric = metric;
  if (typeof search.hardware === 'string') read.hardware = search.hardware;
  if (typeof search.run === 'string') read.run = search.run;
  return read;
}

export const settingsIn = (search: WhatIfSearch): WhatIf => ({ ...whatIfDefault, ...search });
