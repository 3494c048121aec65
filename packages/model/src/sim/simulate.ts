/**
 * A discrete-event simulation of a cluster under a closed workload. Pure: the same costs, workload and seed give the
 * same result in Node and in a browser, and nothing is read but the arguments.
 */

import { Backlog } from './backlog.ts';
import type { ClusterCosts } from './costs.ts';
import { Forwarding } from './forwarding.ts';
import { GroupCommit } from './group-commit.ts';
import { HotBlocks } from './hot-blocks.ts';
import { eventKinds, Kernel } from './kernel.ts';
import { createLayout, type Layout } from './layout.ts';
import { Meter } from './meter.ts';
import { Processors } from './processors.ts';
import { type SimulationResult, timeShareOf, timesOf, waitsOf } from './result.ts';
import { SerialResource } from './serial-resource.ts';
import { SessionTimes } from './session-times.ts';
import { Sessions } from './sessions.ts';
import { assertWorkload, type ModelWorkload } from './workload.ts';

export interface SimulationOptions {
  costs: ClusterCosts;
  workload: ModelWorkload;
  /** Default 1. */
  seed?: number;
  /** Messages in and out before the measured window, and in it; default 20,000 and 200,000. */
  warmupOperations?: number;
  measureOperations?: number;
  /** Limit of simulated time; default ten minutes. */
  simulatedMsMax?: number;
  /** Phases by time instead, as in a run of the lab. */
  phases?: { warmupMs: number; measureMs: number };
}

/** Throws a RangeError for a workload out of its bounds. Takes about a second for each million operations. */
export function simulate(options: SimulationOptions): SimulationResult {
  const steps = simulateInSteps(options);
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** Operations between two yields: about a millisecond, so that the caller can do other work in between. */
const stepOperations = 1_000;

/** The result of `simulate`, for a caller that must not be blocked: it yields about once a millisecond and can be abandoned. */
export function* simulateInSteps(options: SimulationOptions): Generator<void, SimulationResult> {
  assertWorkload(options.workload);
  const simulation = new Simulation(options);
  const {
    warmupOperations = 20_000,
    measureOperations = 200_000,
    simulatedMsMax = 600_000,
    phases,
  } = options;
  if (phases !== undefined) {
    yield* simulation.run(Number.POSITIVE_INFINITY, phases.warmupMs * 1000);
    simulation.beginWindow();
    const endUs = (phases.warmupMs + phases.measureMs) * 1000;
    return simulation.result(yield* simulation.run(Number.POSITIVE_INFINITY, endUs));
  }
  const endUs = simulatedMsMax * 1000;
  let ended = yield* simulation.run(warmupOperations, endUs);
  simulation.beginWindow();
  if (ended === 'operations') ended = yield* simulation.run(measureOperations, endUs);
  return simulation.result(ended);
}

class Simulation {
  readonly #layout: Layout;
  readonly #cores: number;
  readonly #kernel: Kernel;
  readonly #sessionTimes: SessionTimes;
  readonly #processors: Processors;
  readonly #backlog: Backlog;
  readonly #groupCommit: GroupCommit;
  readonly #blocks: HotBlocks;
  readonly #maintenance = new SerialResource();
  readonly #meter: Meter;
  readonly #sessions: Sessions;
  readonly #forwarding: Forwarding;
  #windowAt = 0;

  constructor({ costs, workload, seed = 1 }: SimulationOptions) {
    const layout = createLayout(costs, workload);
    this.#layout = layout;
    this.#cores = costs.machine.coresPerNode;
    this.#kernel = new Kernel(seed, layout.jobs + 2);
    this.#sessionTimes = new SessionTimes(layout.sessions);
    this.#meter = new Meter(layout.instances);
    this.#backlog = new Backlog(workload.kind === 'sharded' ? layout.instances : 1, layout);
    this.#processors = new Processors(this.#kernel, this.#sessionTimes, layout, costs.machine, {
      demandOf: (job) => this.#demandOf(job),
    });
    const shared = {
      kernel: this.#kernel,
      processors: this.#processors,
      sessionTimes: this.#sessionTimes,
      backlog: this.#backlog,
      layout,
      costs,
      workload,
    };
    this.#groupCommit = new GroupCommit({ ...shared, host: { committed: (job) => this.#committed(job) } });
    this.#blocks = new HotBlocks(
      this.#kernel,
      this.#processors,
      this.#sessionTimes,
      layout,
      { ...costs.unsharded, blocks: workload.kind === 'sharded' ? 0 : costs.unsharded.blocks },
      { granted: (job) => this.#sessions.granted(job) },
    );
    this.#sessions = new Sessions({
      ...shared,
      groupCommit: this.#groupCommit,
      blocks: this.#blocks,
      maintenance: this.#maintenance,
      meter: this.#meter,
      onEmptyDequeue: (instance) => this.#forwarding.requestBatch(instance),
      onAppended: (place) => this.#forwarding.appended(place),
    });
    this.#forwarding = new Forwarding({
      ...shared,
      groupCommit: this.#groupCommit,
      onMoved: (receiver, owner) => {
        this.#sessions.appended(receiver, receiver);
        this.#sessions.resumeEnqueuers(owner);
      },
    });
    this.#sessions.start();
  }

  /** Runs until `operations` more operations are acknowledged, or until `endUs`. */
  *run(operations: number, endUs: number): Generator<void, SimulationResult['ended']> {
    const goal = this.#meter.operations + operations;
    for (;;) {
      const ended = this.#runUntil(Math.min(goal, this.#meter.operations + stepOperations), endUs);
      if (ended !== 'operations' || this.#meter.operations >= goal) return ended;
      yield;
    }
  }

  #runUntil(goal: number, endUs: number): SimulationResult['ended'] {
    const meter = this.#meter;
    const kernel = this.#kernel;
    while (meter.operations < goal) {
      if (!kernel.next(endUs)) {
        if (kernel.isIdle) return 'stalled';
        kernel.now = endUs;
        return 'time';
      }
      const job = kernel.index;
      if (kernel.kind === eventKinds.delay) this.#delayEnded(job);
      else if (kernel.kind === eventKinds.burst) this.#burstEnded(job);
      else if (kernel.kind === eventKinds.block) this.#blocks.transferEnded(job);
      else this.#sessions.partialBatchWaitEnded(job);
    }
    return 'operations';
  }

  #delayEnded(job: number): void {
    const { sessions, firstForwarder } = this.#layout;
    if (job < sessions) this.#sessions.delayEnded(job);
    else if (job < firstForwarder) this.#groupCommit.delayEnded(job);
    else this.#forwarding.delayEnded(job);
  }

  #burstEnded(job: number): void {
    const { sessions, firstForwarder, firstTransfer } = this.#layout;
    this.#processors.releaseCore(job);
    if (job < sessions) this.#sessions.burstEnded(job);
    else if (job < firstForwarder) this.#groupCommit.burstEnded(job);
    else if (job < firstTransfer) this.#forwarding.burstEnded(job);
    else this.#blocks.burstEnded(job);
    this.#processors.releaseKeptCore();
  }

  #demandOf(job: number): number {
    const { sessions, firstForwarder, firstTransfer } = this.#layout;
    if (job < sessions) return this.#sessions.demandOf(job);
    if (job < firstForwarder) return this.#groupCommit.demandOf(job);
    return job < firstTransfer ? this.#forwarding.demandOf(job) : this.#blocks.demandOf(job);
  }

  #committed(job: number): void {
    if (job < this.#layout.sessions) this.#sessions.committed(job);
    else this.#forwarding.committed(job);
  }

  beginWindow(): void {
    this.#windowAt = this.#kernel.now;
    this.#meter.clear();
    this.#sessionTimes.clear(this.#kernel.now);
    this.#processors.clear();
    this.#groupCommit.clear();
    this.#blocks.clear();
    this.#maintenance.clear(this.#kernel.now);
  }

  result(ended: SimulationResult['ended']): SimulationResult {
    const elapsedUs = this.#kernel.now - this.#windowAt;
    const perSec = (count: number) => (elapsedUs === 0 ? 0 : (count * 1e6) / elapsedUs);
    const share = (us: number) => (elapsedUs === 0 ? 0 : us / elapsedUs);
    const { enqueued, dequeued, dequeuedOn, dequeueCall, commit, latency } = this.#meter;
    this.#processors.accountRunning();
    const { cpuUs } = this.#processors;
    const read = this.#sessionTimes.read(this.#kernel.now);
    const cpuTotalUs = cpuUs.reduce((sum, us) => sum + us, 0);
    return {
      enqueuePerSec: perSec(enqueued),
      dequeuePerSec: perSec(dequeued),
      dequeueCallMs: timesOf(dequeueCall),
      commitMs: timesOf(commit),
      latencyMs: timesOf(latency),
      cpuUsPerMessage: dequeued === 0 ? 0 : cpuTotalUs / dequeued,
      cpuShareByInstance: Array.from(cpuUs, share),
      dequeuePerSecByInstance: Array.from(dequeuedOn, perSec),
      waits: waitsOf(read, elapsedUs),
      timeShare: timeShareOf(read),
      use: elapsedUs === 0 ? { ...idle } : this.#use(elapsedUs),
      transactionsPerGroup:
        this.#groupCommit.groups === 0 ? 0 : this.#groupCommit.transactions / this.#groupCommit.groups,
      messages: this.#messages(),
      measuredMs: elapsedUs / 1000,
      operations: this.#meter.operations,
      events: this.#kernel.events,
      ended,
    };
  }

  #use(elapsedUs: number): SimulationResult['use'] {
    const { cpuUs, threadUs } = this.#processors;
    const byNode = new Float64Array(this.#layout.nodes);
    for (const [instance, us] of cpuUs.entries()) {
      const node = instance % this.#layout.nodes;
      byNode[node] = byNode[node]! + us;
    }
    const most = (values: Iterable<number>) => Math.max(...values) / elapsedUs;
    return {
      // Background work counts when it is requested, which may be slightly more than the cores can do.
      cores: Math.min(1, most(byNode) / this.#cores),
      sessionThread: most(threadUs.filter((_, thread) => thread % 2 === 0)),
      writerThread: most(threadUs.filter((_, thread) => thread % 2 === 1)),
      redoDevice: this.#groupCommit.deviceUse(elapsedUs),
      partitionMaintenance: this.#maintenance.busyUs(this.#kernel.now) / elapsedUs,
      indexBlock: this.#blocks.use(elapsedUs),
    };
  }

  /** Counts of the whole simulation. A forwarded message became visible twice and is counted once. */
  #messages(): SimulationResult['messages'] {
    const { visible, taken, consumed } = this.#backlog.totals();
    const { forwarded } = this.#forwarding;
    return {
      enqueued: visible - forwarded,
      consumed: consumed - forwarded,
      held: taken - consumed,
      ready: visible * this.#layout.subscribers - taken,
      forwarded,
    };
  }
}

const idle = {
  cores: 0,
  sessionThread: 0,
  writerThread: 0,
  redoDevice: 0,
  partitionMaintenance: 0,
  indexBlock: 0,
};
