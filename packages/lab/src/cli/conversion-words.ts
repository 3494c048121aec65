/** The conversions of a run in words, one line per repeat. */
import type { ConversionOutcome, Point } from '@shardlab/contract';
import { plural } from '../programs/figures-in-words.ts';

const number = (value: number) => Math.round(value).toLocaleString('en-US');

/** An empty string if there are no conversions. */
export function conversionsInWords(points: readonly Point[]): string {
  const lines = points.flatMap(({ params, repeats }) =>
    repeats.flatMap(({ conversion }, repeat) =>
      conversion === undefined
        ? []
        : [
            `  ${plural(Number(params.instances), 'instance')}, repeat ${repeat + 1}: ${conversionInWords(conversion)}`,
          ],
    ),
  );
  return lines.length === 0 ? '' : ['Conversions:', ...lines].join('\n');
}

function conversionInWords(conversion: ConversionOutcome): string {
  const { atMs, tookMs, steps, withoutEnqueueMs, enqueuePerSec, dequeuePerSec } = conversion;
  const stepTimes = steps.map(({ step, tookMs: ms }) => `${step} ${number(ms)}`).join(', ');
  const outage =
    withoutEnqueueMs === null
      ? 'no enqueue acknowledged from then on'
      : `no enqueue acknowledged for ${number(withoutEnqueueMs)} ms`;
  const around = ({ before, during, after }: ConversionOutcome['enqueuePerSec']) =>
    `${number(before)}/s before, ${number(during)}/s during, ${number(after)}/s after`;
  return `started at ${(atMs / 1000).toFixed(1)} s, took ${number(tookMs)} ms (${stepTimes}), ${outage}; enqueued ${around(enqueuePerSec)}; dequeued ${around(dequeuePerSec)}`;
}
