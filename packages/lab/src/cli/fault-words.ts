/** What the faults of a run did, a line for each fault of each repeat. */
import type { FaultOutcome, Point } from '@shardlab/contract';

const number = (value: number) => Math.round(value).toLocaleString('en-US');

const done: Record<FaultOutcome['kind'], string> = {
  kill: 'killed',
  pause: 'paused',
  stop: 'stopped',
  start: 'started again',
};

/** Empty without faults. */
export function faultsInWords(points: readonly Point[]): string {
  const lines = points.flatMap(({ params, repeats }) =>
    repeats.flatMap(({ faults = [] }, repeat) =>
      faults.map((fault) => `  ${params.instances} instances, repeat ${repeat + 1}: ${faultInWords(fault)}`),
    ),
  );
  return lines.length === 0 ? '' : ['Faults:', ...lines].join('\n');
}

function faultInWords({
  kind,
  instance,
  atMs,
  movedMs,
  withoutServiceMs,
  dequeuePerSec,
}: FaultOutcome): string {
  const { before, during, after } = dequeuePerSec;
  const moved = kind === 'start' ? 'back in its own process' : 'taken over';
  const movedWords = movedMs === null ? `not ${moved}` : `${moved} after ${number(movedMs)} ms`;
  const service =
    withoutServiceMs === null ? 'never served again' : `${number(withoutServiceMs)} ms without service`;
  return `instance ${instance} ${done[kind]} at ${(atMs / 1000).toFixed(1)} s, ${movedWords}, ${service}; all dequeued ${number(before)}/s before, ${number(during)}/s meanwhile, ${number(after)}/s after`;
}
