/** Why points decide nothing or little: measurements that contradict each other, files in memory, durability that is not shown. */
import type { Point } from '@shardlab/contract';
import { contradictionOf } from '../programs/queue/points/contradiction.ts';
import { isQueuePoint, type QueuePoint } from '../programs/queue/points/queue-point.ts';
import type { JudgeContext } from './judgement.ts';

/**
 * Why verdicts of these points say little: the system's own figures of its writes were not compared with the kernel's. Null if they
 * were, or if no durability was promised.
 */
export function unseenByKernel(points: readonly Point[]): string | null {
  const isDisrupted = ({ repeats }: Point) =>
    repeats.some(({ faults, conversion }) => faults !== undefined || conversion !== undefined);
  const unseen = points.some(
    (point) =>
      isQueuePoint(point) &&
      point.figures.writtenBytesPerSec === undefined &&
      point.params.durability !== 'memory' &&
      !isDisrupted(point),
  );
  return unseen
    ? 'The counters of the kernel are missing at some points (they are read from /proc, which only Linux has), so what the system says of its writes was compared with nothing outside of it.'
    : null;
}

/** Contradictions at more points than this share make the whole run doubtful. */
const contradictedShareMax = 0.1;

export interface Examined {
  points: readonly QueuePoint[];
  /** Why the points decide nothing; null if they may. */
  doubt: string | null;
}

/** Points with a contradiction are left out, as long as they are few. */
export function examine(points: readonly QueuePoint[], cores: number | null): Examined {
  const found = points.map((point) => ({ point, contradiction: contradictionOf(point, cores) }));
  const contradicted = found.filter(({ contradiction }) => contradiction !== null);
  const agreeing = found.flatMap(({ point, contradiction }) => (contradiction === null ? [point] : []));
  const [first] = contradicted;
  if (first === undefined || contradicted.length <= contradictedShareMax * points.length)
    return { points: agreeing, doubt: null };
  return {
    points: [],
    doubt: `The measurements of ${contradicted.length} of ${points.length} points contradict each other: at one of them (${first.point.system}) ${first.contradiction}.`,
  };
}

/** Why points of durable messages decide nothing; null if their files were on a disk. */
export function inMemory(
  points: readonly Pick<QueuePoint, 'params'>[],
  context: Pick<JudgeContext, 'fileSystem'>,
): string | null {
  return points.some(({ params }) => params.durability === 'durable') ? onMemoryDisk(context) : null;
}

/** Why nothing that waits for a sync is judged; null if the files of the trials were on a disk. */
export const onMemoryDisk = ({ fileSystem }: Pick<JudgeContext, 'fileSystem'>): string | null =>
  fileSystem === 'tmpfs'
    ? 'The files of the trials were in memory (tmpfs), where a sync takes no time, so nothing is said about a disk.'
    : null;

/** Why the durability of a system's messages is not shown; null if it is, or if the run has not examined it. */
export function undurable(points: readonly QueuePoint[]): string | null {
  // As the kills are sampled: one of relaxed messages shows nothing about durable ones.
  const alike = Map.groupBy(points, ({ system, params }) => `${system}/${params.durability}`);
  for (const group of alike.values()) {
    const { system } = group[0]!;
    const reported = group.flatMap(({ integrity }) => integrity.durability ?? []);
    const wrong = reported.find((each) => each === 'not shown');
    if (wrong !== undefined) return `After a kill, acknowledged messages of ${system} were missing.`;
    const promised = reported.filter((each) => each !== 'not promised');
    if (promised.length > 0 && !promised.includes('shown'))
      return `A trial that is killed and reopened is missing for ${system}, so its durability is not shown.`;
  }
  return null;
}
