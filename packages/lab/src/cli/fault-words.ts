/** The faults of a run in words, one line for each fault of each repeat. */
import type { FaultOutcome, Point } from '@shardlab/contract';
import { plural } from '../programs/figures-in-words.ts';

const number = (value: number) => Math.round(value).toLocaleString('en-US');

const faultInPastTense: Record<FaultOutcome['kind'], string> = {
  kill: 'killed',
  pause: 'paused',
  stop: 'stopped',
  start: 'started again',
};

/** An empty string if there are no faults. */
export function faultsInWords(points: readonly Point[]): string {
  const lines = points.flatMap(({ params, repeats }) =>
    repeats.flatMap(({ faults = [] }, repeat) =>
      faults.map(
        (fault) =>
          `  ${plural(Number(params.instances), 'instance')}, repeat ${repeat + 1}: ${faultInWords(fault)}`,
      ),
    ),
  );
  return lines.length === 0 ? '' : ['Faults:', ...lines].join('\n');
}

function faultInWords({ kind, instance, atMs, takeoverMs, outageMs, dequeuePerSec }: FaultOutcome): string {
  const { before, during, after } = dequeuePerSec;
  const move = kind === 'start' ? 'back in its own process' : 'taken over';
  const takeover = takeoverMs === null ? `not ${move}` : `${move} after ${number(takeoverMs)} ms`;
  const outage = outageMs === null ? 'never served again' : `outage of ${number(outageMs)} ms`;
  return `instance ${instance} ${faultInPastTense[kind]} at ${(atMs / 1000).toFixed(1)} s, ${takeover}, ${outage}; all instances dequeued ${number(before)}/s before, ${number(during)}/s during, ${number(after)}/s after`;
}
