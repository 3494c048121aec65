/** What the conversions of a run did, a line for each repeat. */
import type { ConversionOutcome, Point } from '@shardlab/contract';

const number = (value: number) => Math.round(value).toLocaleString('en-US');

/** Empty without conversions. */
export function conversionsInWords(points: readonly Point[]): string {
  const lines = points.flatMap(({ params, repeats }) =>
    repeats.flatMap(({ conversion }, repeat) =>
      conversion === undefined
        ? []
        : [`  ${params.instances} instances, repeat ${repeat + 1}: ${conversionInWords(conversion)}`],
    ),
  );
  return lines.length === 0 ? '' : ['Conversions:', ...lines].join('\n');
}

function conversionInWords(conversion: ConversionOutcome): string {
  const { atMs, tookMs, steps, withoutEnqueueMs, enqueuePerSec, dequeuePerSec } = conversion;
  const each = steps.map(({ step, tookMs: ms }) => `${step} ${number(ms)}`).join(', ');
  const without = withoutEnqueueMs === null ? 'for good' : `for ${number(withoutEnqueueMs)} ms`;
  const around = ({ before, during, after }: ConversionOutcome['enqueuePerSec']) =>
    `${number(before)}/s before, ${number(during)}/s meanwhile, ${number(after)}/s after`;
  return `begun at ${(atMs / 1000).toFixed(1)} s, ${number(tookMs)} ms (${each}), without an enqueue ${without}; enqueued ${around(enqueuePerSec)}; dequeued ${around(dequeuePerSec)}`;
}
