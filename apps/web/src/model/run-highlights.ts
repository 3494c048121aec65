/** The most important results of a run: of both queues at the one point that a headline would compare, and of the whole run. */
import { figureOf, type Point, type Run } from '@shardlab/contract';
import { describeParameters } from './combination-words.ts';
import { comparableEvidence, type Evidence, unshardedCommits } from './evidence.ts';
import { formatCount, formatRate, formatValue } from './format.ts';
import { integrityFaults } from './integrity-faults.ts';
import { verdictsInWords } from './verdicts.ts';

export interface Highlight {
  name: string;
  value: string;
  /** The system whose figure it is. */
  system?: 'sharded' | 'unsharded' | 'grouped';
  /** Set for a condition of the measurement, which is not a figure. */
  isCondition?: true;
}

/** None before the first point. */
export function runHighlights({
  points,
  claims,
  recordedOn,
}: Pick<Run, 'points' | 'claims'> & { recordedOn?: string | undefined }): Highlight[] {
  if (points.length === 0) return [];
  const evidence = comparableEvidence(points);
  const faults = integrityFaults(points);
  return [
    ...(evidence === null ? [] : compared(evidence)),
    ...(claims.length === 0
      ? []
      : [{ name: 'Claims', value: verdictsInWords(claims, recordedOn !== undefined) }]),
    { name: 'Integrity faults', value: faults === 0 ? 'None' : formatCount(faults) },
  ];
}

function compared({ sharded, unsharded, grouped, ratio }: Evidence): Highlight[] {
  const dequeuesOf = (point: Point) => figureOf(point, 'dequeuePerSec');
  const groupedCommits = grouped === null ? '' : '; grouped: one writer commits for all';
  return [
    {
      name: 'Compared at',
      value: `${describeParameters(sharded.params)}. Unsharded: ${unshardedCommits}${groupedCommits}`,
      isCondition: true,
    },
    { name: 'Sharded dequeue rate', value: formatRate(dequeuesOf(sharded)), system: 'sharded' },
    { name: 'Unsharded dequeue rate', value: formatRate(dequeuesOf(unsharded)), system: 'unsharded' },
    { name: 'Sharded vs. unsharded', value: `${formatValue(ratio)} ×` },
    ...(grouped === null
      ? []
      : [
          {
            name: 'Grouped dequeue rate',
            value: formatRate(dequeuesOf(grouped)),
            system: 'grouped' as const,
          },
          {
            name: 'Sharded vs. grouped',
            value: `${formatValue(dequeuesOf(sharded) / dequeuesOf(grouped))} ×`,
          },
        ]),
  ];
}
