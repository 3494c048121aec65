/** Parts that judges of queues and topics share: selecting points, conditions, waits, wording. */
import type { ClaimClause, Provenance, WaitSummary } from '@shardlab/contract';
import { plural } from '../programs/figures-in-words.ts';
import type { QueuePoint } from '../programs/queue/points/queue-point.ts';
import { clauseWithout, fixed } from './clause.ts';
import type { Judge } from './judgement.ts';

export type QueueJudge = Judge<QueuePoint>;

/** Operations per transaction that count as "much larger commit batches" than the paper's 10. */
export const largeBatchMin = 100;

/** Points with the same round trip, which can be compared. Each family is a condition of its own. */
export interface Family {
  roundTripMs: number;
  points: QueuePoint[];
  /** "with a 1 ms round trip, emulated"; "as it is" without one. */
  words: string;
  provenance: Provenance;
}

/** The families of a run, that without a round trip last. */
export function familiesOf(points: readonly QueuePoint[]): Family[] {
  const roundTrips = distinct(points, 'roundTripMs').reverse();
  return roundTrips.map((roundTripMs) => ({
    roundTripMs,
    points: points.filter((point) => point.params.roundTripMs === roundTripMs),
    words: roundTripMs > 0 ? `with a ${roundTripMs} ms round trip, emulated` : 'as it is',
    provenance: provenanceOf(points.filter((point) => point.params.roundTripMs === roundTripMs)),
  }));
}

/** Emulated if one of the points is. */
export const provenanceOf = (points: readonly Pick<QueuePoint, 'provenance'>[]): Provenance =>
  points.find(({ provenance }) => provenance !== 'measured')?.provenance ?? 'measured';

/** Two baselines that differ in who commits: each session for itself, or one writer for all. */
export interface BaselinePair {
  own: string;
  grouped: string;
  /** The system that stands for a topic, as a sentence. */
  asTopic: string;
}

/** Systems with which the sharded queue is compared. Only topics have the second pair. */
const baselinePairs: readonly BaselinePair[] = [
  {
    own: 'unsharded',
    grouped: 'unsharded-grouped',
    asTopic:
      'Each subscriber has its own queue that gets a copy of every message, as with job tables: the conventional topic, stored once, is compared by itself.',
  },
  {
    own: 'unsharded-once',
    grouped: 'unsharded-grouped-once',
    asTopic: 'The topic stores a message once, with a row for each subscriber in its one index.',
  },
];

export interface Baseline {
  system: string;
  pair: BaselinePair;
  points: QueuePoint[];
  /** "against unsharded (each session commits for itself)": group commit is part of a ratio to it. */
  words: string;
}

const againstInWords = (system: string, { own }: BaselinePair) =>
  `against ${system} (${system === own ? 'each session commits for itself' : 'one writer commits for all'})`;

/** The baselines that were measured. */
export function baselinesOf(points: readonly QueuePoint[]): Baseline[] {
  return baselinePairs.flatMap((pair) =>
    [pair.own, pair.grouped].flatMap((system) => {
      const ofSystem = points.filter((point) => point.system === system);
      return ofSystem.length === 0
        ? []
        : [{ system, pair, points: ofSystem, words: againstInWords(system, pair) }];
    }),
  );
}

/**
 * The clauses against each baseline. A ratio to only one baseline of a pair does not separate the effect of sharding from that of group
 * commit. So if one was measured and the other was not, the claim cannot hold. Empty if none was measured.
 */
export function againstEachBaseline(
  points: readonly QueuePoint[],
  clausesOf: (family: Family, baseline: Baseline) => readonly ClaimClause[],
): ClaimClause[] {
  return familiesOf(points).flatMap((family) => {
    const measured = baselinesOf(family.points).flatMap((baseline) => {
      const clauses = clausesOf(family, baseline);
      return clauses.length === 0 ? [] : [{ ...baseline, clauses }];
    });
    const missing = baselinePairs
      .filter((pair) => measured.some((each) => each.pair === pair))
      .flatMap((pair) => [pair.own, pair.grouped].map((system) => ({ system, pair })))
      .filter(({ system }) => measured.every((each) => each.system !== system));
    return [
      ...measured.flatMap(({ clauses }) => clauses),
      ...missing.map(({ system, pair }) =>
        clauseWithout('inconclusive', {
          condition: inCondition(family.words, againstInWords(system, pair)),
          reason: `Not measured: these points have none of ${system} that can be compared.`,
        }),
      ),
    ];
  });
}

/**
 * Separates the effect of group commit from that of sharding: a quantity of the sharded queue, of the unsharded table with one writer
 * for all sessions, and of the table to which each session commits for itself. Empty unless all were measured.
 */
export function gainsInWords(values: {
  unsharded: number | undefined;
  grouped: number | undefined;
  sharded: number;
}): string {
  const { unsharded, grouped, sharded: split } = values;
  if (unsharded === undefined || grouped === undefined || !(unsharded > 0 && grouped > 0)) return '';
  const [byGroups, bySharding] = [grouped / unsharded, split / grouped];
  return `Of the factor ${fixed(split / unsharded)}, group commit gives ${fixed(byGroups)} and sharding ${fixed(bySharding)}.`;
}

export const inCondition = (...words: readonly string[]): string => words.join(', ');

export const sharded = (points: readonly QueuePoint[]) =>
  points.filter((point) => point.system === 'sharded');

/** "remote sessions", "remote sessions, one message per transaction": in which way clients call the queue. */
export function sessionsInWords({ params }: Pick<QueuePoint, 'params'>): string {
  const place = `${params.sessions ?? 'embedded'} sessions`;
  return params.operationsPerTransaction === 1 ? `${place}, one message per transaction` : place;
}

/** The point with the highest dequeue rate. */
export function best(points: readonly QueuePoint[]): QueuePoint | null {
  return points.reduce<QueuePoint | null>(
    (top, point) => (top === null || point.dequeuePerSec > top.dequeuePerSec ? point : top),
    null,
  );
}

export function distinct(
  points: readonly QueuePoint[],
  axis: 'instances' | 'threads' | 'roundTripMs',
): number[] {
  return [...new Set(points.map((point) => point.params[axis]))].sort((a, b) => a - b);
}

/** Points under load: the upper half of the thread counts. With few threads there is no contention. */
export function underLoad(points: readonly QueuePoint[]): QueuePoint[] {
  const threads = distinct(points, 'threads');
  const least = threads[Math.floor(threads.length / 2)] ?? 0;
  return points.filter((point) => point.params.threads >= least);
}

/** The waits caused by the queue: not those for work, for the emulated client or for flow control. */
export const queueWaits = (point: QueuePoint): WaitSummary[] =>
  point.waits.filter((wait) => wait.class !== 'idle' && !wait.emulated && wait.event !== 'flow control');

/** The wait event of the queue with the most time, in quotation marks: `"write lock"`; without waits the word `nothing`. */
export function topWaitInWords(point: QueuePoint): string {
  const [top] = queueWaits(point).toSorted((a, b) => b.totalMs - a.totalMs);
  return top === undefined ? 'nothing' : `"${top.event}"`;
}

/** "1 instance, 16 threads", with the round trip if there is one, and the batch size if it is large. */
export function pointInWords(point: QueuePoint): string {
  const { instances, threads, roundTripMs, operationsPerTransaction } = point.params;
  const batch =
    operationsPerTransaction >= largeBatchMin
      ? `, ${operationsPerTransaction} operations per transaction`
      : '';
  const trip = `${roundTripMs > 0 ? `, ${roundTripMs} ms round trip` : ''}${batch}`;
  return `${plural(instances, 'instance')}, ${plural(threads, 'thread')}${trip}`;
}
