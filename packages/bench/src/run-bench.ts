/**
 * Runs a bench: probes, then rounds of all trials, so that a noisy minute affects all of them alike. A failed trial is
 * recorded and repeated in the next round; it does not affect the results of others.
 */
import type { Environment } from '@shardlab/contract';
import { captureEnvironment, measureRaw, type RawResult } from '@shardlab/lab';
import { serverPeers, shardedRemote } from './drivers/systems.ts';
import { Journal } from './journal.ts';
import { type Absence, availabilityOf } from './plan/availability.ts';
import { bestConsumers, probe } from './plan/probe.ts';
import { type RawKind, rawKindsOf } from './plan/raw-kinds.ts';
import type { Scale } from './plan/scale.ts';
import { names, peersOf, type Trial, trialsOf } from './plan/trials.ts';
import { spreadOf } from './report/spread.ts';
import { runTrial } from './trial/run-trial.ts';
import type { Sample } from './trial/sample.ts';

export interface BenchOptions {
  dataDir: string;
  scale: Scale;
  payloadBytes: number;
  /** File to which results are appended, and from which they are read; null for none. */
  journal: string | null;
  signal?: AbortSignal;
  onProgress(progress: { done: number; total: number; what: string }): void;
}

export interface Failure {
  trial: string;
  round: number;
  error: string;
}

/** The raw measurements of a bench. */
export interface Measurements {
  environment: Environment & { versions: Record<string, string> };
  payloadBytes: number;
  rounds: number;
  raw: { kind: RawKind; repeats: RawResult[] }[];
  trials: { trial: Trial; repeats: Sample[][] }[];
  halfLoadPerSec: number | null;
  absent: Absence[];
  failures: Failure[];
}

export async function measure(options: BenchOptions): Promise<Measurements> {
  const { scale, dataDir, payloadBytes, signal } = options;
  const environment = await captureEnvironment(dataDir);
  const { present, absent, versions } = availabilityOf(peersOf(scale, serverPeers));
  const circumstances = JSON.stringify({ scale, payloadBytes, commit: environment.commit, versions });
  const journal = new Journal(options.journal, circumstances);
  const failures: Failure[] = [];
  const attempt = async <T>(trial: string, round: number, work: () => Promise<T>): Promise<T | null> => {
    signal?.throwIfAborted();
    try {
      return await journal.once(`${round}: ${trial}`, work);
    } catch (error) {
      if (signal?.aborted) throw error;
      failures.push({ trial, round, error: error instanceof Error ? error.message : String(error) });
      return null;
    }
  };
  const common = { dataDir, payloadBytes, ...(signal === undefined ? {} : { signal }) };

  const probed = await probe({
    systems: [shardedRemote, ...present],
    scale,
    common,
    attempt,
    onProgress: options.onProgress,
  });
  const trials = trialsOf(scale, present, bestConsumers(probed)).map((trial) => ({
    trial,
    repeats: [] as Sample[][],
  }));
  const raw = rawKindsOf(scale).map((kind) => ({ kind, repeats: [] as RawResult[] }));
  const total = scale.rounds * (raw.length + trials.length);
  let done = 0;
  const next = (what: string) => options.onProgress({ done: done++, total, what });
  let halfPerSec: number | null = null;
  for (let round = 1; round <= scale.rounds; round += 1) {
    for (const { kind, repeats } of raw) {
      const name = `raw ${kind.cycle}, ${kind.operationsPerTransaction}, ${kind.pageBytes}`;
      next(name);
      const { measureMs } = scale;
      const result = await attempt(name, round, () =>
        measureRaw({ ...kind, dir: dataDir, payloadBytes, measureMs }),
      );
      if (result !== null) repeats.push(result);
    }
    for (const { trial, repeats } of trials) {
      next(trial.key);
      if (trial.messagesPerSec === 'half') halfPerSec ??= halfLoadPerSecOf(trials);
      const samples = await attempt(trial.key, round, () =>
        runTrial(trial, { ...common, scale, halfLoadPerSec: halfPerSec ?? 0 }),
      );
      if (samples !== null) repeats.push(samples);
    }
  }
  return {
    environment: { ...environment, versions },
    payloadBytes,
    rounds: scale.rounds,
    raw,
    trials,
    halfLoadPerSec: halfPerSec,
    absent,
    failures,
  };
}

/** Half of our own maximum rate at the same transaction size, as measured so far. Throws if it was not measured. */
function halfLoadPerSecOf(trials: Measurements['trials']): number {
  const closed = trials.find(({ trial }) => trial.key === names.queue10Single)?.repeats ?? [];
  const rates = closed.flatMap(([sample]) => sample?.dequeuePerSec ?? []);
  return rates.length === 0 ? 0 : Math.round(spreadOf(rates).median / 2);
}
