/** Runs one trial: starts a process per instance, synchronises the phases, and combines the measurements. */
import { mkdir, rm } from 'node:fs/promises';
import type { Phases, Scenario, TickEvent, TimelineBin } from '@shardlab/contract';
import { LabError } from '../errors.ts';
import { queueParamsOf } from '../programs/queue/queue-params.ts';
import { type Clock, createMonotonicClock } from './clock.ts';
import { faultOutcomes } from './fault-outcomes.ts';
import { type Histogram, latencyOf, mergeHistograms } from './latency.ts';
import { layoutOf } from './layout.ts';
import { mergeBySource, type OrderScope } from './ledger.ts';
import { LiveTicks } from './live-ticks.ts';
import type { FromWorker, Timeline, WorkerConfig, WorkerResult } from './protocol.ts';
import { accountedShare } from './session-times.ts';
import { isStreamed } from './streamed-payload.ts';
import { cpuFigures, timeFigures } from './time-figures.ts';
import type { Trial, TrialOptions, TrialOutcome } from './trial.ts';
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
  const params = queueParamsOf(trial.params);
  const fillMs = params.backlog * fillMsPerMessage;
  const limitMs =
    phases.warmupMs + phases.measureMs + phases.drainMs + (options.graceMs ?? graceMsDefault + fillMs);
  const deadline = setTimeout(() => hurdle.reject(hung(limitMs)), limitMs);
  try {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', onAbort, { once: true });
    await mkdir(dir, { recursive: true });
    cluster = await startRemote(options, clock, ticks);
    const shared = trial.system === 'unsharded' || params.dequeuers === 'other-instance';
    const outlets = layoutOf(trial).dequeueSources.length;
    const share = new BacklogShares(workers, shared);
    for (let instance = 1; instance <= params.instances; instance++) {
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
      const [queue] = layoutOf(trial).enqueueQueues;
      const onHappening = (happening: TickEvent) => ticks.recordEvent(happening);
      conversion.begun = new TrialConversion({
        dir,
        queue: queue!,
        shards: params.shardsPerInstance,
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
  const { sessions, instances } = queueParamsOf(trial.params);
  if (sessions !== 'remote') return null;
  return TrialCluster.start({
    dir,
    instances,
    cacheBytesMax: cacheBytesMax(trial),
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

  const shared = options.trial.system === 'unsharded' && conversion === undefined;
  for (const worker of workers) worker.send({ type: 'finish', browse: !shared || worker.instance === 1 });
  const answers = await Promise.all(workers.map((worker) => worker.receive('result')));
  await Promise.all(workers.map((worker) => worker.disconnect()));
  const results = answers.map(({ result }) => result);
  const outcome = outcomeOf(options.trial, results, cluster === null ? null : await cluster.windows());
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
  const params = queueParamsOf(trial.params);
  const { instances, threads, roundTripMs, payloadBytes, operationsPerTransaction, backlog, sessions } =
    params;
  const everyone = Array.from({ length: threads }, (_, index) => index);
  const enqueuers = everyone.filter((enqueuer) => enqueuer % instances === instance - 1);
  const isOtherInstance = params.dequeuers === 'other-instance';
  const feeder = isOtherInstance ? 1 + ((instance - 2 + instances) % instances) : instance;
  return {
    dir,
    instance,
    sessions,
    layout: layoutOf(trial),
    createsQueues: instance === 1,
    cacheBytesMax: cacheBytesMax(trial),
    enqueuers,
    // Every instance has consumers for its messages, or all its messages are forwarded to the next instance.
    dequeuers: everyone.filter((enqueuer) => enqueuer % instances === feeder - 1).length,
    forwardsFrom: isOtherInstance ? [feeder] : [],
    backlog: Math.round((backlog * enqueuers.length) / threads),
    payloadBytes,
    operationsPerTransaction,
    rows: params.rows,
    backlogMax: params.backlogMax,
    roundTripMs,
    orderScope: orderScopeOf(trial),
    converts: scenario.conversion !== undefined,
    tickMs: tickMsOf(scenario),
    seed: scenario.seed,
    nonce: (scenario.seed * 31 + trial.index + 1) >>> 0,
  };
}

function cacheBytesMax({ params }: Trial): number | null {
  const { cacheMiB } = queueParamsOf(params);
  return cacheMiB === undefined ? null : cacheMiB * 1024 ** 2;
}

/**
 * Over a socket, responses to several sessions may be processed in a different order than they were sent, and a streamed
 * payload is identified only when it was read completely.
 */
function orderScopeOf({ system, params }: Trial): OrderScope {
  const { payloadBytes, sessions } = queueParamsOf(params);
  if (system === 'unsharded' || isStreamed(payloadBytes)) return 'session';
  return sessions === 'remote' ? 'sight' : 'instance';
}

function timelineFrom(warmupAtMs: number, phases: Phases): Timeline {
  const measureAtMs = warmupAtMs + phases.warmupMs;
  const stopAtMs = measureAtMs + phases.measureMs;
  return { warmupAtMs, measureAtMs, stopAtMs, drainUntilMs: stopAtMs + phases.drainMs };
}

/**
 * If sessions are remote, CPU and waits are those of the processes that serve the instances. Each instance's counts are
 * divided by its own window, because windows differ by a turn of the event loop.
 */
function outcomeOf(
  { params }: Trial,
  results: readonly WorkerResult[],
  served: readonly ProcessWindow[] | null,
): TrialOutcome {
  const windows = results.map(({ window }, index) => ({
    ...window,
    cpuUs: served?.[index]?.cpuUs ?? window.cpuUs,
  }));
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const dequeuePerSec = windows.map(({ consumed, ms }) => (consumed * 1000) / ms);
  const cpuShare = windows.map(({ cpuUs, ms }) => cpuUs / 1000 / ms);
  const latency = mergeHistograms(windows.map((window) => window.latency));
  const dequeueCall = mergeHistograms(windows.map((window) => window.dequeueCall));
  return {
    figures: {
      dequeuePerSec: sum(dequeuePerSec),
      enqueuePerSec: sum(windows.map(({ enqueued, ms }) => (enqueued * 1000) / ms)),
      ...cpuFigures(results, served),
      busiestCores: Math.max(...cpuShare),
      ...timeFigures(windows),
      ...callFigures(dequeueCall),
      ...latencyFigures(latency),
    },
    provenance: queueParamsOf(params).roundTripMs > 0 ? 'emulated' : 'measured',
    latencies: { latency, dequeueCall },
    byInstance: {
      cpuShare,
      dequeuePerSec,
      timeAccounted: windows.map(({ times }) => accountedShare(times)),
    },
    waits: mergeWaits([...windows, ...(served ?? [])].map(({ waits }) => waits)),
    integrity: mergeBySource(results.map(({ ledgers }) => ledgers)),
    measuredMs: Math.max(...windows.map(({ ms }) => ms)),
  };
}

function callFigures(call: Histogram): Record<string, number> {
  if (call.totalCount === 0) return {};
  const { p50, p99 } = latencyOf(call);
  return { dequeueCallMeanMs: call.mean / 1000, dequeueCallP50Ms: p50, dequeueCallP99Ms: p99 };
}

function latencyFigures(latency: Histogram): Record<string, number> {
  if (latency.totalCount === 0) return {};
  const { p50, p99 } = latencyOf(latency);
  return { latencyP50Ms: p50, latencyP99Ms: p99 };
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
