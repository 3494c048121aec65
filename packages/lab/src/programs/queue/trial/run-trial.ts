/** Runs one trial: starts a process per instance, synchronises the phases, and combines the measurements. */
import { mkdir, rm } from 'node:fs/promises';
import type { Phases, TickEvent, TimelineBin } from '@shardlab/contract';
import { mergeBySource } from '../../../integrity/ledger.ts';
import { type Clock, createMonotonicClock } from '../../../meters/clock.ts';
import { addCounts } from '../../../meters/counts.ts';
import { holdersIn } from '../../../meters/event-holders.ts';
import { type Histogram, latencyOf, mergeHistograms } from '../../../meters/latency.ts';
import { accountedShare } from '../../../meters/session-times.ts';
import { steadinessOf } from '../../../meters/steadiness.ts';
import { tracesIn } from '../../../meters/trace-sampler.ts';
import { mergeWaits } from '../../../meters/wait-totals.ts';
import { hasWriteLock, sharesOneTable } from '../../../systems/queue-systems.ts';
import type { Trial, TrialOutcome } from '../../../trial/trial.ts';
import { TrialLimit } from '../../../trial/trial-limit.ts';
import { queueParamsOf } from '../points/queue-params.ts';
import { BacklogShares } from './backlog-shares.ts';
import { faultOutcomes } from './fault-outcomes.ts';
import { KernelWindow } from './kernel-window.ts';
import { layoutOf } from './layout.ts';
import { LiveTicks } from './live-ticks.ts';
import type { FromWorker, Timeline, WorkerResult } from './protocol.ts';
import { cpuFigures, lockFigures, syncFigures, timeFigures } from './time-figures.ts';
import { type ProcessWindow, startRemote, type TrialCluster } from './trial-cluster.ts';
import { TrialConversion } from './trial-conversion.ts';
import { configFor, isDisrupted, type QueueTrialOptions } from './worker-config.ts';
import { openAll, WorkerProcess } from './worker-process.ts';

/** Time between the start message and the warm-up, so that every process has received it. */
const leadMs = 25;
/** Starting the processes, browsing and closing take well under a second each; after this time something hangs. */
const graceMsDefault = 60_000;
/** The slowest way of filling a backlog takes 0.1 ms per message. */
const fillMsPerMessage = 0.1;
/**
 * Runs one trial. Rejects with `WORKER_FAILED` if a process fails or hangs, and with the signal's reason if it aborts. In
 * each case no process and no file of the trial remains.
 */
export async function runTrial(options: QueueTrialOptions): Promise<TrialOutcome> {
  const { trial, phases, dir, signal, onTick } = options;
  const clock = createMonotonicClock();
  const ticks = new LiveTicks(trial, clock, (tick) => onTick?.(tick));
  const measured: TickMessage[] = [];
  const workers: WorkerProcess[] = [];
  let cluster: TrialCluster | null = null;
  const conversion: { begun?: TrialConversion } = {};
  const params = queueParamsOf(trial.params);
  const fillMs = params.backlog * fillMsPerMessage;
  const limitMs =
    phases.warmupMs + phases.measureMs + phases.drainMs + (options.graceMs ?? graceMsDefault + fillMs);
  const limit = new TrialLimit(limitMs, signal);
  const ends: (() => void)[] = [];
  try {
    signal?.throwIfAborted();
    await mkdir(dir, { recursive: true });
    cluster = await startRemote(options, clock, (happening) => ticks.recordEvent(happening));
    const shares = new BacklogShares(workers);
    for (let instance = 1; instance <= params.instances; instance++) {
      workers.push(
        new WorkerProcess(instance, {
          onTick: (tick) => {
            if (tick.phase === 'measure' && isDisrupted(options.scenario)) measured.push(tick);
            ticks.add(tick.phase, cluster?.complete(tick.sample) ?? tick.sample);
          },
          onBacklog: (messages) => shares.update(instance, messages),
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
    const running = {
      workers,
      cluster,
      measured,
      clock,
      convert,
      onEnd: (act: () => void) => ends.push(act),
    };
    const failures = [limit.reached, ...(cluster === null ? [] : [cluster.failed])];
    return await Promise.race([runPhases(running, options), ...failures]);
  } finally {
    limit.clear();
    for (const end of ends) end();
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
  onEnd(act: () => void): void;
  /** Schedules the conversion of the queue, if the scenario has one. */
  convert(timeline: Timeline): TrialConversion | undefined;
}

async function runPhases(running: RunningTrial, options: QueueTrialOptions): Promise<TrialOutcome> {
  const { workers, cluster, clock } = running;
  await openAll(workers.map((worker) => [worker, configFor(worker.instance, options)]));
  const pids = cluster?.pids ?? workers.flatMap((worker) => worker.pid ?? []);
  options.onOpen?.(pids);

  const timeline = timelineFrom(clock() + leadMs, options.phases);
  cluster?.begin(timeline, options.scenario.faults ?? []);
  const kernel = new KernelWindow(pids, timeline, clock);
  running.onEnd(() => kernel.clear());
  const conversion = running.convert(timeline);
  for (const worker of workers) worker.send({ type: 'run', timeline });
  await Promise.all(workers.map((worker) => worker.receive('enqueuersDone')));
  for (const worker of workers) worker.send({ type: 'sealed' });
  await Promise.all(workers.map((worker) => worker.receive('drained')));
  await conversion?.done;

  const shared = sharesOneTable(options.trial.system) && conversion === undefined;
  for (const worker of workers) worker.send({ type: 'finish', browse: !shared || worker.instance === 1 });
  const answers = await Promise.all(workers.map((worker) => worker.receive('result')));
  await Promise.all(workers.map((worker) => worker.disconnect()));
  const results = answers.map(({ result }) => result);
  const outcome = outcomeOf(options.trial, results, cluster === null ? null : await cluster.windows());
  if (!isDisrupted(options.scenario)) {
    Object.assign(outcome.figures, kernel.figures());
    const sources = layoutOf(options.trial).dequeueSources.length;
    const steady = steadinessOf(
      results.map(({ window }) => window),
      sources,
    );
    return { ...(steady.isSteady ? outcome : withoutLatency(outcome)), steady };
  }
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
  { system, params }: Trial,
  results: readonly WorkerResult[],
  served: readonly ProcessWindow[] | null,
): TrialOutcome {
  const windows = results.map(({ window }, index) => ({
    ...window,
    cpuUs: served?.[index]?.cpuUs ?? window.cpuUs,
    syncs: served?.[index]?.syncs ?? window.syncs,
  }));
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const dequeuePerSec = windows.map(({ consumed, ms }) => (consumed * 1000) / ms);
  const cpuShare = windows.map(({ cpuUs, ms }) => cpuUs / 1000 / ms);
  const waits = mergeWaits([...windows, ...(served ?? [])].map((window) => window.waits));
  const counters = addCounts([...windows, ...(served ?? [])].map((window) => window.counters));
  const latency = mergeHistograms(windows.map((window) => window.latency));
  const dequeueCall = mergeHistograms(windows.map((window) => window.dequeueCall));
  const commit = mergeHistograms(windows.map((window) => window.commit));
  return {
    figures: {
      dequeuePerSec: sum(dequeuePerSec),
      enqueuePerSec: sum(windows.map(({ enqueued, ms }) => (enqueued * 1000) / ms)),
      ...cpuFigures(results, served),
      busiestCores: Math.max(...cpuShare),
      ...timeFigures(windows),
      ...syncFigures(waits, counters),
      ...(hasWriteLock(system) ? lockFigures(waits, counters) : {}),
      syncsPerSec: sum(windows.map(({ syncs, ms }) => (syncs * 1000) / ms)),
      ...callFigures(dequeueCall),
      ...latencyFigures(latency),
    },
    provenance: queueParamsOf(params).roundTripMs > 0 ? 'emulated' : 'measured',
    latencies: { latency, dequeueCall, commit },
    ...tracesIn(results),
    ...holdersIn(results.map(({ holders }) => holders)),
    byInstance: {
      cpuShare,
      dequeuePerSec,
      timeAccounted: windows.map(({ times }) => accountedShare(times)),
    },
    waits,
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

/** Without the latency, which measures the length of the run where a backlog grows or a rate still changes. */
function withoutLatency({ figures, latencies, ...outcome }: TrialOutcome): TrialOutcome {
  const { latencyP50Ms: _p50, latencyP99Ms: _p99, ...others } = figures;
  const { latency: _latency, ...distributions } = latencies;
  return { ...outcome, figures: others, latencies: distributions };
}
