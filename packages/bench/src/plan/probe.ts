/** Short trials that find the best number of consumers for a peer, for each shape and transaction size. */
import { latencyOf, mergeHistograms } from '@shardlab/lab';
import type { System } from '../drivers/systems.ts';
import { runTrial, type TrialOptions } from '../trial/run-trial.ts';
import type { Sample } from '../trial/sample.ts';
import type { Scale } from './scale.ts';
import { type ConsumersOf, consumersUnprobed, probesOf, type Shape, type Trial, titleOf } from './trials.ts';

export interface Probed {
  trial: Trial;
  sample: Sample;
}

export async function probe(options: {
  systems: readonly System[];
  scale: Scale;
  common: Pick<TrialOptions, 'dataDir' | 'payloadBytes' | 'signal'>;
  attempt: (key: string, round: number, work: () => Promise<Sample[]>) => Promise<Sample[] | null>;
  onProgress: (progress: { done: number; total: number; what: string }) => void;
}): Promise<Probed[]> {
  const { systems, scale, common, attempt, onProgress } = options;
  if (scale.probeMs === 0) return [];
  const short: Scale = { ...scale, warmupMs: scale.probeMs, measureMs: scale.probeMs, drainMs: 0 };
  const trials = systems.flatMap((system) => probesOf(scale, system));
  const probed: Probed[] = [];
  for (const [done, trial] of trials.entries()) {
    onProgress({ done, total: trials.length, what: trial.key });
    const samples = await attempt(trial.key, 0, () =>
      runTrial(trial, { ...common, scale: short, halfLoadPerSec: 0 }),
    );
    if (samples?.[0] !== undefined) probed.push({ trial, sample: samples[0] });
  }
  return probed;
}

/** By throughput, or by p99 latency in an open loop, where the throughput is always the same. */
export function bestConsumers(probed: readonly Probed[]): ConsumersOf {
  return (system, shape, operations) => {
    const like: Shape = shape === 'open loop' ? 'open loop' : 'both at once';
    const candidates = probed
      .filter(
        ({ trial }) =>
          titleOf(trial.system) === titleOf(system) &&
          trial.shape === like &&
          trial.operations === operations,
      )
      .map(({ trial, sample }) => ({
        consumers: trial.dequeuers,
        score: like === 'open loop' ? -p99Of(sample) : (sample.dequeuePerSec ?? 0),
      }))
      .toSorted((a, b) => b.score - a.score);
    return candidates[0]?.consumers ?? consumersUnprobed(shape, operations);
  };
}

function p99Of({ latency }: Sample): number {
  const { p99, count } = latencyOf(mergeHistograms([latency]));
  return count === 0 ? Infinity : p99;
}
