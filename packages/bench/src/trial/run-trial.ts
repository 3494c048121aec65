/** One trial: a new folder, a new server if needed, and its steps. */

import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from '@shardlab/lab';
import type { Scale } from '../plan/scale.ts';
import type { Trial } from '../plan/trials.ts';
import type { Job, JobResult } from './job.ts';
import { runTrialStep } from './run-trial-step.ts';
import { type Sample, sampleOf } from './sample.ts';

export interface TrialOptions {
  /** A folder on the disk under test. */
  dataDir: string;
  scale: Scale;
  payloadBytes: number;
  /** Messages a second at which an open loop at half load runs. */
  halfLoadPerSec: number;
  signal?: AbortSignal;
}

/** Enqueuers in a closed loop wait above this backlog, so that enqueue and dequeue are the same amount of work. */
const backlogMaxLeast = 5_000;
let nonce = process.pid & 0xffff;

/** Runs a trial and ends everything that it started. Rejects with the first error of a process. */
export async function runTrial(trial: Trial, options: TrialOptions): Promise<Sample[]> {
  const dir = mkdtempSync(join(options.dataDir, 'trial-'));
  const socketDir = mkdtempSync(join(tmpdir(), 'shardlab-bench-'));
  // A server may run as another user, who must reach both.
  for (const folder of [dir, socketDir]) chmodSync(folder, 0o755);
  nonce += 1;
  let server: Server | null = null;
  try {
    server = await startServer(trial, dir, socketDir);
    return await new TrialSteps(trial, options, dir, server).run();
  } finally {
    await server?.stop();
    rmSync(socketDir, { recursive: true, force: true });
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function startServer(
  { system, instances }: Trial,
  trialDir: string,
  socketDir: string,
): Promise<Server | null> {
  if (system.server === null) return null;
  const dir = join(trialDir, 'server');
  mkdirSync(dir);
  return system.server.start({ dir, socketDir, durability: system.durability, instances });
}

class TrialSteps {
  readonly #trial: Trial;
  readonly #options: TrialOptions;
  readonly #dir: string;
  readonly #server: Server | null;
  readonly #history: JobResult[] = [];
  #stepsRun = 0;

  constructor(trial: Trial, options: TrialOptions, dir: string, server: Server | null) {
    this.#trial = trial;
    this.#options = options;
    this.#dir = dir;
    this.#server = server;
  }

  /** Client processes: an embedded instance lies in one, and all remote sessions are in one. */
  get #processes(): number {
    const { system, instances } = this.#trial;
    return system.placement === 'embedded' ? instances : 1;
  }

  run(): Promise<Sample[]> {
    switch (this.#trial.shape) {
      case 'enqueue, then dequeue':
        return this.#enqueueThenDequeue();
      case 'both at once':
        return this.#runStep('both at once', {});
      case 'open loop':
        return this.#openLoop();
      case 'standing backlog':
        return this.#standingBacklog();
    }
  }

  /** The backlog that one process has left is dequeued by another one. */
  async #enqueueThenDequeue(): Promise<Sample[]> {
    const { dequeueBacklog: fill } = this.#options.scale;
    const [enqueued] = await this.#runStep('enqueue only', { dequeuers: 0, backlogMax: Infinity, fill });
    const dequeued = await this.#runStep('dequeue only', { enqueuers: [], drainMs: 0 });
    return [enqueued!, ...dequeued];
  }

  async #openLoop(): Promise<Sample[]> {
    const { messagesPerSec = 0, operations } = this.#trial;
    const rate = messagesPerSec === 'half' ? this.#options.halfLoadPerSec : messagesPerSec;
    if (!(rate > 0)) throw new Error('Half of our maximum rate is not known, because its trial failed');
    return this.#runStep('open loop', { transactionsPerSec: rate / operations / this.#processes });
  }

  /** The process that created the backlog is killed, so the next step opens a file that was not closed. */
  async #standingBacklog(): Promise<Sample[]> {
    const messages = this.#trial.standing!;
    await this.#runStep('enqueue only', {
      dequeuers: 0,
      warmupMs: 0,
      measureMs: 0,
      fill: { messages, withinMs: 600_000 },
      crash: true,
    });
    // The remaining backlog is counted, not drained.
    return this.#runStep('standing backlog', { backlogMax: messages + backlogMaxLeast, drainMs: 0 });
  }

  async #runStep(phase: Sample['phase'], change: Partial<Job>): Promise<Sample[]> {
    const processes = this.#processes;
    const standing = this.#history.map(({ committed, consumed }) => committed - consumed);
    const backlog = standing.reduce((sum, each) => sum + each, 0);
    const jobs = Array.from({ length: processes }, (_, index) => ({
      ...this.#job(index, processes),
      standing: backlog / processes,
      ...change,
    }));
    for (const job of jobs) {
      job.client = { ...job.client, enqueuers: job.enqueuers.length, dequeuers: job.dequeuers };
    }
    const results = await runTrialStep(jobs, this.#options.signal);
    this.#stepsRun += 1;
    this.#history.push(...results);
    const [{ transactionsPerSec, client }] = jobs as [Job];
    const intendedPerSec =
      transactionsPerSec === null ? null : transactionsPerSec * client.operations * processes;
    return [sampleOf({ phase, results, history: this.#history, backlog, intendedPerSec })];
  }

  #job(index: number, processes: number): Job {
    const {
      shape,
      system,
      operations,
      enqueuers,
      dequeuers,
      subscribers = 0,
      emulatedSyncMs = 0,
    } = this.#trial;
    const { payloadBytes, scale } = this.#options;
    const share = (sessions: number) =>
      Array.from({ length: sessions }, (_, no) => no).filter((no) => no % processes === index);
    const [mine, takers] = [share(enqueuers), share(dequeuers).length];
    return {
      driver: system.driver,
      placement: system.placement,
      order: system.order,
      client: {
        dir: this.#dir,
        endpoints: this.#server?.endpoints ?? [],
        durability: system.durability,
        process: index + 1,
        createsQueue: index === 0 && this.#stepsRun === 0,
        enqueuers: mine.length,
        dequeuers: takers,
        operations,
        subscribers,
        emulatedSyncMs,
      },
      payloadBytes,
      nonce,
      enqueuers: mine.map((no) => this.#stepsRun * 10_000 + no),
      dequeuers: takers,
      transactionsPerSec: null,
      backlogMax: Math.max(backlogMaxLeast, 2 * mine.length * operations),
      standing: 0,
      warmupMs: scale.warmupMs * (shape === 'open loop' ? 2 : 1),
      measureMs: scale.measureMs,
      drainMs: scale.drainMs,
      fill: null,
      serverPids: this.#server?.pids ?? [],
      crash: false,
    };
  }
}
