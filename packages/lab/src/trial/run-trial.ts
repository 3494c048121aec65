/** One trial: a process for each instance, the phases in step, and what they measured put together. */
import { mkdir, rm } from 'node:fs/promises';
import type { Integrity, Scenario, Tick } from '@shardlab/contract';
import type { WaitStats } from '@shardlab/engine';
import { LabError } from '../errors.ts';
import type { Trial } from '../run/plan-run.ts';
import { type Clock, createMonotonicClock } from './clock.ts';
import { type Histogram, mergeHistograms } from './latency.ts';
import { layoutOf } from './layout.ts';
import { mergeOutlets } from './ledger.ts';
import { LiveTicks } from './live-ticks.ts';
import type { Timeline, WindowResult, WorkerConfig, WorkerResult } from './protocol.ts';
import { mergeWaits } from './wait-totals.ts';
import { WorkerProcess } from './worker-process.ts';

/** From the order to start until the warm-up begins, so that every process has heard of it. */
const leadMs = 25;
/** Start of the processes, browsing and closing together take well under a second each; past this something hangs. */
const graceMsDefault = 60_000;
/** The slowest that fills a backlog does ten messages in a millisecond. */
const fillMsPerMessage = 0.1;

export interface TrialOptions {
  trial: Trial;
  scenario: Scenario;
  phases: Scenario['phases'];
  /** Scratch folder of this trial: made here, and removed whatever happens. */
  dir: string;
  signal?: AbortSignal;
  /** `atMs` is 0: the run knows when it began. */
  onTick?: (tick: Tick) => void;
  /** Process ids of the instances, in their order, once all are open. */
  onOpen?: (pids: number[]) => void;
  /** How long beyond its phases a trial may take before its processes are killed. */
  graceMs?: number;
}

/** What one trial measured. */
export interface TrialOutcome {
  /** By instance. */
  windows: Pick<WindowResult, 'ms' | 'enqueued' | 'consumed' | 'cpuUs'>[];
  waits: WaitStats[];
  latency: Histogram;
  dequeueCall: Histogram;
  integrity: Integrity;
}

/**
 * Runs one trial. Rejects with `WORKER_FAILED` if a process fails or hangs and with the signal's reason if it aborts;
 * in each case no process and no file of the trial remains.
 */
export async function runTrial(options: TrialOptions): Promise<TrialOutcome> {
  const { trial, phases, dir, signal, onTick } = options;
  const ticks = new LiveTicks(trial, (tick) => onTick?.(tick));
  const workers: WorkerProcess[] = [];
  const hurdle = Promise.withResolvers<never>();
  // It may be rejected before anything waits for it, while the folder is being made.
  hurdle.promise.catch(() => {});
  const onAbort = () => hurdle.reject(signal!.reason);
  const fillMs = (trial.params.backlog ?? 0) * fillMsPerMessage;
  const limitMs =
    phases.warmupMs + phases.measureMs + phases.drainMs + (options.graceMs ?? graceMsDefault + fillMs);
  const deadline = setTimeout(() => hurdle.reject(hung(limitMs)), limitMs);
  try {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', onAbort, { once: true });
    await mkdir(dir, { recursive: true });
    const shared = trial.implementation === 'unsharded';
    const outlets = layoutOf(options.scenario, trial.implementation, trial.params).outlets.length;
    const share = new BacklogShares(workers, shared);
    for (let instance = 1; instance <= trial.params.instances; instance++) {
      workers.push(
        new WorkerProcess(instance, (tick) => {
          ticks.add(tick.phase, tick.sample);
          share.heard(instance, tick.enqueued - tick.consumed / outlets);
        }),
      );
    }
    const results = await Promise.race([conduct(workers, options, createMonotonicClock()), hurdle.promise]);
    return outcomeOf(results);
  } finally {
    clearTimeout(deadline);
    signal?.removeEventListener('abort', onAbort);
    await Promise.all(workers.map((worker) => worker.kill()));
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function conduct(
  workers: WorkerProcess[],
  options: TrialOptions,
  clock: Clock,
): Promise<WorkerResult[]> {
  const [first, ...others] = workers.map((worker) => ({
    worker,
    config: configFor(worker.instance, options),
  }));
  // The first makes catalog and queue; the others find both when they open.
  await open(first!);
  await Promise.all(others.map(open));
  options.onOpen?.(workers.flatMap((worker) => worker.pid ?? []));

  const timeline = timelineFrom(clock() + leadMs, options.phases);
  for (const worker of workers) worker.send({ type: 'run', timeline });
  await Promise.all(workers.map((worker) => worker.receive('enqueuersDone')));
  for (const worker of workers) worker.send({ type: 'sealed' });
  await Promise.all(workers.map((worker) => worker.receive('drained')));

  const shared = options.trial.implementation === 'unsharded';
  for (const worker of workers) worker.send({ type: 'finish', browse: !shared || worker.instance === 1 });
  const results = await Promise.all(workers.map((worker) => worker.receive('result')));
  await Promise.all(workers.map((worker) => worker.letGo()));
  return results.map(({ result }) => result);
}

async function open({ worker, config }: { worker: WorkerProcess; config: WorkerConfig }): Promise<void> {
  worker.send({ type: 'open', config });
  await worker.receive('opened');
}

function configFor(instance: number, { trial, scenario, dir }: TrialOptions): WorkerConfig {
  const { instances, threads, roundTripMs, payloadBytes, operationsPerTransaction } = trial.params;
  const { backlog = 0, cacheMiB = scenario.queue.cacheMiB } = trial.params;
  const everyone = Array.from({ length: threads }, (_, index) => index);
  const enqueuers = everyone.filter((enqueuer) => enqueuer % instances === instance - 1);
  return {
    dir,
    instance,
    layout: layoutOf(scenario, trial.implementation, trial.params),
    createsQueues: instance === 1,
    cacheBytesMax: cacheMiB === undefined ? null : cacheMiB * 1024 ** 2,
    // An enqueuer and its dequeuers always go together, so no instance has messages without anybody to take them.
    enqueuers,
    backlog: Math.round((backlog * enqueuers.length) / threads),
    payloadBytes,
    operationsPerTransaction,
    backlogMax: scenario.workload.backlogMax,
    roundTripMs,
    orderScope: trial.implementation === 'sharded' ? 'instance' : 'session',
    seed: scenario.seed,
    nonce: (scenario.seed * 31 + trial.index + 1) >>> 0,
  };
}

function timelineFrom(warmupAtMs: number, phases: Scenario['phases']): Timeline {
  const measureAtMs = warmupAtMs + phases.warmupMs;
  const stopAtMs = measureAtMs + phases.measureMs;
  return { warmupAtMs, measureAtMs, stopAtMs, drainUntilMs: stopAtMs + phases.drainMs };
}

function outcomeOf(results: readonly WorkerResult[]): TrialOutcome {
  const windows = results.map(({ window }) => window);
  return {
    windows: windows.map(({ ms, enqueued, consumed, cpuUs }) => ({ ms, enqueued, consumed, cpuUs })),
    waits: mergeWaits(windows.map(({ waits }) => waits)),
    latency: mergeHistograms(windows.map(({ latency }) => latency)),
    dequeueCall: mergeHistograms(windows.map(({ dequeueCall }) => dequeueCall)),
    integrity: mergeOutlets(results.map(({ ledgers }) => ledgers)),
  };
}

function hung(limitMs: number): LabError {
  return new LabError('WORKER_FAILED', {
    sentence: `The trial did not end within ${Math.round(limitMs / 1000)} s; its processes were killed`,
    details: { limitMs },
  });
}

/** Tells each instance its share of the backlog of a shared queue, at every tick: see `BacklogGate.setShare`. */
class BacklogShares {
  readonly #workers: readonly WorkerProcess[];
  readonly #shared: boolean;
  readonly #net = new Map<number, number>();

  constructor(workers: readonly WorkerProcess[], shared: boolean) {
    this.#workers = workers;
    this.#shared = shared;
  }

  heard(instance: number, net: number): void {
    if (!this.#shared || this.#workers.length === 1) return;
    this.#net.set(instance, net);
    if (this.#net.size < this.#workers.length) return;
    const backlog = [...this.#net.values()].reduce((sum, each) => sum + each, 0);
    this.#net.clear();
    const messages = Math.max(0, Math.round(backlog / this.#workers.length));
    for (const worker of this.#workers) worker.send({ type: 'backlogShare', messages });
  }
}
