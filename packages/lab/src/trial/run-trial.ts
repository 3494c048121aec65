/** Runs one trial: starts a process per instance, synchronises the phases, and combines the measurements. */
import { mkdir, rm } from 'node:fs/promises';
import type {
  ConversionOutcome,
  FaultOutcome,
  Integrity,
  Scenario,
  Tick,
  TickEvent,
  TimelineBin,
} from '@shardlab/contract';
import type { WaitStats } from '@shardlab/engine';
import { LabError } from '../errors.ts';
import type { Trial } from '../run/plan-run.ts';
import { type Clock, createMonotonicClock } from './clock.ts';
import { faultOutcomes } from './fault-outcomes.ts';
import { type Histogram, mergeHistograms } from './latency.ts';
import { layoutOf } from './layout.ts';
import { mergeBySource, type OrderScope } from './ledger.ts';
import { LiveTicks } from './live-ticks.ts';
import type { FromWorker, Timeline, WindowResult, WorkerConfig, WorkerResult } from './protocol.ts';
import { isStreamed } from './streamed-payload.ts';
import { type ProcessWindow, TrialCluster } from './trial-cluster.ts';
import { TrialConversion } from './trial-conversion.ts';
import { mergeWaits } from './wait-totals.ts';
import { WorkerProcess } from './worker-process.ts';

/** Time between the start message and the warm-up, so that every process has received it. */
const leadMs = 25;
/** Starting the processes, browsing and closing take well under a second each; after this time something hangs. */
const graceMsDefault = 60_000;
/** The slowest way of filling a backlog takes 0.1 ms per message. */
const fillMsPerMessage = 0.1;
/** Interval of ticks; shorter if faults or conversions, which may take less than one, are observed. */
const tickMs = 250;
const disruptedTickMs = 100;

const isDisrupted = ({ faults, conversion }: Scenario) => faults !== undefined || conversion !== undefined;
const tickMsOf = (scenario: Scenario) => (isDisrupted(scenario) ? disruptedTickMs : tickMs);

export interface TrialOptions {
  trial: Trial;
  scenario: Scenario;
  phases: Scenario['phases'];
  /** Scratch folder of this trial: created here, and always removed. */
  dir: string;
  signal?: AbortSignal;
  /** `atMs` is 0; the run fills it in. */
  onTick?: (tick: Tick) => void;
  /** Called with the process ids of the instances, in their order, once all are open. */
  onOpen?: (pids: number[]) => void;
  /** How long a trial may exceed its phases before its processes are killed, milliseconds. */
  graceMs?: number;
}

/** The measurements of one trial. */
export interface TrialOutcome {
  /** By instance. */
  windows: Pick<WindowResult, 'ms' | 'enqueued' | 'consumed' | 'cpuUs'>[];
  waits: WaitStats[];
  latency: Histogram;
  dequeueCall: Histogram;
  integrity: Integrity;
  /** Present if the scenario has faults or a conversion. */
  disruption?: { faults?: FaultOutcome[]; conversion?: ConversionOutcome; timeline: TimelineBin[] };
}

/**
 * Runs one trial. Rejects with `WORKER_FAILED` if a process fails or hangs, and with the signal's reason if it aborts. In
 * each case no process and no file of the trial remains.
 */
export async function runTrial(options: TrialOptions): Promise<TrialOutcome> {
  const { trial, phases, dir, signal, onTick } = options;
  const clock = createMonotonicClock();
  const ticks = new LiveTicks(trial, clock, (tick) => onTick?.(tick));
  const measured: TickMessage[] = [];
  const workers: WorkerProcess[] = [];
  let cluster: TrialCluster | null = null;
  const conversion: { begun?: TrialConversion } = {};
  const hurdle = Promise.withResolvers<never>();
  // The promise may be rejected before anything awaits it, while the folder is being created.
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
    cluster = await startRemote(options, clock, ticks);
    const shared = trial.implementation === 'unsharded' || trial.params.dequeuers === 'other-instance';
    const outlets = layoutOf(options.scenario, trial.implementation, trial.params).dequeueSources.length;
    const share = new BacklogShares(workers, shared);
    for (let instance = 1; instance <= trial.params.instances; instance++) {
      workers.push(
        new WorkerProcess(instance, (tick) => {
          if (tick.phase === 'measure' && isDisrupted(options.scenario)) measured.push(tick);
          ticks.add(tick.phase, cluster?.complete(tick.sample) ?? tick.sample);
          share.update(instance, tick.enqueued - tick.consumed / outlets);
        }),
      );
    }
    const convert = (timeline: Timeline) => {
      if (options.scenario.conversion === undefined) return undefined;
      const { scenario } = options;
      const [queue] = layoutOf(scenario, trial.implementation, trial.params).enqueueQueues;
      const onHappening = (happening: TickEvent) => ticks.recordEvent(happening);
      conversion.begun = new TrialConversion({
        dir,
        queue: queue!,
        scenario,
        timeline,
        clock,
        onTickEvent: onHappening,
      });
      return conversion.begun;
    };
    const running = { workers, cluster, measured, clock, convert };
    const failures = [hurdle.promise, ...(cluster === null ? [] : [cluster.failed])];
    return await Promise.race([runPhases(running, options), ...failures]);
  } finally {
    clearTimeout(deadline);
    signal?.removeEventListener('abort', onAbort);
    await Promise.all(workers.map((worker) => worker.kill()));
    await cluster?.close();
    await conversion.begun?.close();
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

type TickMessage = Extract<FromWorker, { type: 'tick' }>;

interface RunningTrial {
  workers: readonly WorkerProcess[];
  /** The processes of the instances, if sessions are remote. */
  cluster: TrialCluster | null;
  /** Ticks of the measured phase, if it has faults or a conversion. */
  measured: readonly TickMessage[];
  clock: Clock;
  /** Schedules the conversion of the queue, if the scenario has one. */
  convert(timeline: Timeline): TrialConversion | undefined;
}

async function startRemote(
  { trial, scenario, dir }: TrialOptions,
  clock: Clock,
  ticks: LiveTicks,
): Promise<TrialCluster | null> {
  if (scenario.workload.sessions !== 'remote') return null;
  return TrialCluster.start({
    dir,
    instances: trial.params.instances,
    cacheBytesMax: cacheBytesMax(scenario, trial),
    sampleMs: tickMsOf(scenario),
    clock,
    onTickEvent: (happening) => ticks.recordEvent(happening),
  });
}

async function runPhases(running: RunningTrial, options: TrialOptions): Promise<TrialOutcome> {
  const { workers, cluster, clock } = running;
  const [first, ...others] = workers.map((worker) => ({
    worker,
    config: configFor(worker.instance, options),
  }));
  // The first instance creates catalog and queue, so that the others find both when they open.
  await open(first!);
  await Promise.all(others.map(open));
  options.onOpen?.(cluster?.pids ?? workers.flatMap((worker) => worker.pid ?? []));

  const timeline = timelineFrom(clock() + leadMs, options.phases);
  cluster?.begin(timeline, options.scenario.faults ?? []);
  const conversion = running.convert(timeline);
  for (const worker of workers) worker.send({ type: 'run', timeline });
  await Promise.all(workers.map((worker) => worker.receive('enqueuersDone')));
  for (const worker of workers) worker.send({ type: 'sealed' });
  await Promise.all(workers.map((worker) => worker.receive('drained')));
  await conversion?.done;

  const shared = options.trial.implementation === 'unsharded' && conversion === undefined;
  for (const worker of workers) worker.send({ type: 'finish', browse: !shared || worker.instance === 1 });
  const answers = await Promise.all(workers.map((worker) => worker.receive('result')));
  await Promise.all(workers.map((worker) => worker.disconnect()));
  const results = answers.map(({ result }) => result);
  const outcome = outcomeOf(results, cluster === null ? null : await cluster.windows());
  if (!isDisrupted(options.scenario)) return outcome;
  const bins = running.measured.map((tick) => binOf(tick, timeline.measureAtMs));
  if (conversion !== undefined) {
    const enqueueGaps = results.flatMap((result) => result.enqueueGaps);
    return { ...outcome, disruption: { conversion: conversion.outcome(bins, enqueueGaps), timeline: bins } };
  }
  const gaps = results.map((result) => result.gaps);
  const faults = faultOutcomes({ records: cluster?.faults() ?? [], gaps, timeline: bins, ...timeline });
  return { ...outcome, disruption: { faults, timeline: bins } };
}

function binOf({ sample, fromMs, toMs }: TickMessage, measureAtMs: number): TimelineBin {
  const { instance, enqueuePerSec, dequeuePerSec, latencyMs } = sample;
  const since = (ms: number) => Number((ms - measureAtMs).toFixed(1));
  return { instance, fromMs: since(fromMs), toMs: since(toMs), enqueuePerSec, dequeuePerSec, latencyMs };
}

async function open({ worker, config }: { worker: WorkerProcess; config: WorkerConfig }): Promise<void> {
  worker.send({ type: 'open', config });
  await worker.receive('opened');
}

function configFor(instance: number, { trial, scenario, dir }: TrialOptions): WorkerConfig {
  const { instances, threads, roundTripMs, payloadBytes, operationsPerTransaction } = trial.params;
  const { backlog = 0 } = trial.params;
  const { sessions = 'embedded' } = scenario.workload;
  const everyone = Array.from({ length: threads }, (_, index) => index);
  const enqueuers = everyone.filter((enqueuer) => enqueuer % instances === instance - 1);
  const isOtherInstance = trial.params.dequeuers === 'other-instance';
  const feeder = isOtherInstance ? 1 + ((instance - 2 + instances) % instances) : instance;
  return {
    dir,
    instance,
    sessions,
    layout: layoutOf(scenario, trial.implementation, trial.params),
    createsQueues: instance === 1,
    cacheBytesMax: cacheBytesMax(scenario, trial),
    enqueuers,
    // Every instance has consumers for its messages, or all its messages are forwarded to the next instance.
    dequeuers: everyone.filter((enqueuer) => enqueuer % instances === feeder - 1).length,
    forwardsFrom: isOtherInstance ? [feeder] : [],
    backlog: Math.round((backlog * enqueuers.length) / threads),
    payloadBytes,
    operationsPerTransaction,
    rows: trial.params.rows ?? 'none',
    backlogMax: scenario.workload.backlogMax,
    roundTripMs,
    orderScope: orderScopeOf(trial, sessions),
    converts: scenario.conversion !== undefined,
    tickMs: tickMsOf(scenario),
    seed: scenario.seed,
    nonce: (scenario.seed * 31 + trial.index + 1) >>> 0,
  };
}

function cacheBytesMax(scenario: Scenario, { params }: Trial): number | null {
  const { cacheMiB = scenario.queue.cacheMiB } = params;
  return cacheMiB === undefined ? null : cacheMiB * 1024 ** 2;
}

/**
 * Over a socket, responses to several sessions may be processed in a different order than they were sent, and a streamed
 * payload is identified only when it was read completely.
 */
function orderScopeOf({ implementation, params }: Trial, sessions: WorkerConfig['sessions']): OrderScope {
  if (implementation === 'unsharded' || isStreamed(params.payloadBytes)) return 'session';
  return sessions === 'remote' ? 'sight' : 'instance';
}

function timelineFrom(warmupAtMs: number, phases: Scenario['phases']): Timeline {
  const measureAtMs = warmupAtMs + phases.warmupMs;
  const stopAtMs = measureAtMs + phases.measureMs;
  return { warmupAtMs, measureAtMs, stopAtMs, drainUntilMs: stopAtMs + phases.drainMs };
}

/** If sessions are remote, CPU and waits are those of the processes that serve the instances. */
function outcomeOf(results: readonly WorkerResult[], served: readonly ProcessWindow[] | null): TrialOutcome {
  const windows = results.map(({ window }) => window);
  return {
    windows: windows.map(({ ms, enqueued, consumed, cpuUs }, index) => ({
      ms,
      enqueued,
      consumed,
      cpuUs: served?.[index]?.cpuUs ?? cpuUs,
    })),
    waits: mergeWaits([...windows, ...(served ?? [])].map(({ waits }) => waits)),
    latency: mergeHistograms(windows.map(({ latency }) => latency)),
    dequeueCall: mergeHistograms(windows.map(({ dequeueCall }) => dequeueCall)),
    integrity: mergeBySource(results.map(({ ledgers }) => ledgers)),
  };
}

function hung(limitMs: number): LabError {
  return new LabError('WORKER_FAILED', {
    message: `The trial did not end within ${Math.round(limitMs / 1000)} s; its processes were killed`,
    details: { limitMs },
  });
}

/** If messages are consumed on other instances, each instance is sent its share of the backlog: see `BacklogGate.setShare`. */
class BacklogShares {
  readonly #workers: readonly WorkerProcess[];
  readonly #shared: boolean;
  readonly #net = new Map<number, number>();

  constructor(workers: readonly WorkerProcess[], shared: boolean) {
    this.#workers = workers;
    this.#shared = shared;
  }

  update(instance: number, net: number): void {
    if (!this.#shared || this.#workers.length === 1) return;
    this.#net.set(instance, net);
    if (this.#net.size < this.#workers.length) return;
    const backlog = [...this.#net.values()].reduce((sum, each) => sum + each, 0);
    this.#net.clear();
    const messages = Math.max(0, Math.round(backlog / this.#workers.length));
    for (const worker of this.#workers) worker.send({ type: 'backlogShare', messages });
  }
}
