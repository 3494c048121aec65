/**
 * Whether the measurements of a point agree with each other. They come from different places (the wait log, the clients'
 * counts, the processes' CPU), so a system that only reports a rate, or a meter that is broken, contradicts itself.
 */
import type { QueuePoint } from '../programs/queue/queue-point.ts';
import { percent } from './judgement.ts';

/**
 * Commits of durable messages that waited for a sync, as a share of all commits; measured 0.96 to 1.00. At window edges a
 * commit is counted on one side and its wait on the other. More is possible: a transaction may have had fewer messages.
 */
const syncedShareMin = 0.9;
/** Waits take place one after the other in a session, so they cannot exceed its time; measured up to 1.07 of it at window edges. */
const waitingShareMax = 1.15;
/**
 * Waits and CPU cover at least this share of the sessions' time; measured 0.43 to 1.25. For the rest sessions wait for their
 * thread.
 */
const explainedShareMin = 0.3;
/** CPU per message × rate and the cores that were busy are the same quantity. */
const cpuAgreement = 0.25;
/** More sessions than there are cannot be inside a dequeue call (Little's law). */
const callingShareMax = 1.15;

/** A contradiction in words; null if the measurements agree. Points with a fault or a conversion are not examined. */
export function contradictionOf(point: QueuePoint, cores: number | null): string | null {
  const { params, enqueuePerSec, dequeuePerSec, repeats, waits } = point;
  const measuredMs = repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0);
  const isDisrupted = repeats.some(
    ({ faults, conversion }) => faults !== undefined || conversion !== undefined,
  );
  if (isDisrupted || measuredMs === 0 || dequeuePerSec === 0) return null;
  const { threads, subscribers = 1, operationsPerTransaction, durability } = params;

  const isDurable = durability !== 'memory' && durability !== 'relaxed';
  const commits = ((enqueuePerSec + dequeuePerSec) / operationsPerTransaction) * (measuredMs / 1000);
  const synced = (waits.find(({ event }) => event === 'log file sync')?.waits ?? 0) / commits;
  if (isDurable && commits >= commitsMin && synced < syncedShareMin)
    return `${percent(synced)} of its commits waited for a sync`;

  const sessionMs = threads * (1 + subscribers) * measuredMs;
  const waiting = waits.reduce((sum, wait) => sum + wait.totalMs, 0) / sessionMs;
  if (waiting > waitingShareMax) return `its sessions waited ${percent(waiting)} of their time`;
  const busyCores = (point.cpuUsPerMessage * dequeuePerSec) / 1e6;
  const explained = waiting + (busyCores * measuredMs) / sessionMs;
  if (isDurable && explained < explainedShareMin)
    return `waits and CPU explain ${percent(explained)} of its sessions' time`;

  const measuredCores = point.cpuShareByInstance.reduce((sum, share) => sum + share, 0);
  if (Math.abs(busyCores - measuredCores) > cpuAgreement * Math.max(busyCores, measuredCores))
    return `its messages took ${busyCores.toFixed(2)} cores, of which its processes used ${measuredCores.toFixed(2)}`;
  if (cores !== null && busyCores > cores * (1 + cpuAgreement))
    return `its messages took ${busyCores.toFixed(2)} cores of ${cores}`;

  const callMs = point.dequeueCallMeanMs ?? 0;
  const calling = ((callMs / 1000) * (dequeuePerSec / operationsPerTransaction)) / (threads * subscribers);
  if (calling > callingShareMax)
    return `${percent(calling)} of its dequeuers were inside a call at the same time`;
  return null;
}

/** With fewer commits in the window, its edges decide. */
const commitsMin = 100;

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

/** Why the durability of a system's messages is not shown; null if it is, or if the run has not examined it. */
export function undurable(points: readonly Pick<QueuePoint, 'system' | 'integrity'>[]): string | null {
  const systems = Map.groupBy(points, ({ system }) => system);
  for (const [system, ofSystem] of systems) {
    const reported = ofSystem.flatMap(({ integrity }) => integrity.durability ?? []);
    const wrong = reported.find((each) => each === 'not shown');
    if (wrong !== undefined) return `After a kill, acknowledged messages of ${system} were missing.`;
    const promised = reported.filter((each) => each !== 'not promised');
    if (promised.length > 0 && !promised.includes('shown'))
      return `A trial that is killed and reopened is missing for ${system}, so its durability is not shown.`;
  }
  return null;
}
