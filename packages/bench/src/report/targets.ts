/** The targets, and whether they were met. */
import { names, pacedPerSec } from '../plan/trials.ts';
import type { BenchFigures, Ratio, RatioName } from './ratios.ts';
import type { Result } from './results.ts';

export interface Target {
  name: string;
  /** The target value, a minimum or a maximum depending on `bound`. */
  target: number;
  bound: 'at least' | 'at most';
  value: number | null;
  met: boolean;
  reason: string;
}

const ratioTargets: Record<RatioName, number> = {
  queue10: 0.6,
  queue1000: 0.8,
  queue1x32: 0.22,
  single1: 0.5,
  topic10: 3,
  cpuUnshardedOverSharded: 4,
  unshardedOverRawCycle: 0.7,
  unshardedOverBestSqlitePeer: 1,
  overBestSyncedPeer: 5,
  overBestPeer: 2,
  backlog: 0.8,
};

/** The backlog of the target; a quick bench uses a smaller one, which proves less. */
const backlogLarge = 10_000_000;

export function targetsOf(figures: BenchFigures, ratios: Record<RatioName, Ratio>): Target[] {
  const atLeast = Object.entries(ratioTargets).map(([name, target]) =>
    judged({ name, target, bound: 'at least', ...ratios[name as RatioName] }),
  );
  const { large } = figures.standing;
  for (const target of atLeast) {
    if (target.name === 'backlog' && target.value !== null && large < backlogLarge) {
      target.met = false;
      target.reason += `; the target requires ${backlogLarge.toLocaleString('en')}`;
    }
  }
  return [...atLeast, ...limitsOf(figures)];
}

/** Targets that are not ratios of rates: balance, latency, event loop, memory and recovery. */
function limitsOf({ results, standing }: BenchFigures): Target[] {
  const find = (trial: string, phase?: Result['phase']) =>
    results.find((result) => result.trial === trial && (phase === undefined || result.phase === phase));
  const queue10 = find(names.queue10);
  const topic = find(names.topic10);
  const large = find(names.standing(standing.large), 'standing backlog');
  const delay = (name: string, result: Result | undefined) =>
    judged({
      name,
      target: 5,
      bound: 'at most',
      value: result?.eventLoopDelayMs.p99 ?? null,
      reason: `p99 delay of timers on the session thread, ms: ${result?.trial ?? 'not measured'}`,
    });
  const pace =
    queue10?.dequeuePerSec && queue10.enqueuePerSec !== null
      ? queue10.enqueuePerSec / queue10.dequeuePerSec
      : null;
  return [
    judged({
      name: 'queue10EnqueueKeepsPace',
      target: 0.95,
      bound: 'at least',
      value: pace,
      reason: 'enqueues ÷ dequeues of queue10',
    }),
    judged({
      name: 'topic10CpuOverQueue',
      target: 1 / 3,
      bound: 'at most',
      value:
        topic?.cpuUsPerMessage && queue10?.cpuUsPerMessage
          ? topic.cpuUsPerMessage / queue10.cpuUsPerMessage
          : null,
      reason: 'CPU per delivery of topic10 ÷ CPU per message of queue10',
    }),
    ...(['p50', 'p99'] as const).map((percentile) => latencyTarget(results, percentile)),
    delay('eventLoopDelayHalfLoad', find(names.half)),
    delay('eventLoopDelayHalfLoadSlowDisk', find(names.halfSlowDisk)),
    delay('eventLoopDelaySingle1', find(names.single1, 'enqueue only')),
    judged({
      name: 'backlogResidentMiB',
      target: 512,
      bound: 'at most',
      value: large?.residentMiB ?? null,
      reason: `resident memory with ${standing.large.toLocaleString('en')} messages in the queue, including the load generator`,
    }),
    judged({
      name: 'backlogReadyAfterKillMs',
      target: 5_000,
      bound: 'at most',
      value: large?.openMs ?? null,
      reason: `from opening until ready, after kill -9 with ${standing.large.toLocaleString('en')} messages`,
    }),
  ];
}

/** Our latency ÷ the best latency of the peers that sync before they acknowledge. */
function latencyTarget(results: readonly Result[], percentile: 'p50' | 'p99'): Target {
  const paced = results.filter(
    ({ phase, placement, operationsPerTransaction, latencyMs }) =>
      phase === 'open loop' && placement === 'remote' && operationsPerTransaction === 1 && latencyMs !== null,
  );
  const best = (who: (result: Result) => boolean) =>
    paced.filter(who).toSorted((a, b) => a.latencyMs![percentile] - b.latencyMs![percentile])[0];
  const ours = best(({ driver }) => driver === 'sharded');
  const theirs = best(({ driver, synced }) => driver !== 'sharded' && synced);
  const measured = ours !== undefined && theirs !== undefined;
  const ms = (result: Result) => result.latencyMs![percentile].toFixed(2);
  return judged({
    name: `latency${percentile.toUpperCase()}`,
    target: 1,
    bound: 'at most',
    value: measured ? ours.latencyMs![percentile] / theirs.latencyMs![percentile] : null,
    reason: measured
      ? `${percentile} at ${pacedPerSec}/s: ours remote ${ms(ours)} ms over ${theirs.driver} ${theirs.durability} ${ms(theirs)} ms`
      : 'our remote sessions against synced servers: not measured',
  });
}

function judged(target: Omit<Target, 'met'>): Target {
  const { value, bound, target: wanted } = target;
  const met = value !== null && (bound === 'at least' ? value >= wanted : value <= wanted);
  return { ...target, met };
}
