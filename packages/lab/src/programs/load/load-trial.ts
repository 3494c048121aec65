/** One trial of a system under load: new folders, a new server if needed, and its steps. */
import type { Integrity } from '@shardlab/contract';
import type { Server } from '../../systems/driver/server.ts';
import type { System } from '../../systems/system.ts';
import { systemOf } from '../../systems/systems.ts';
import type { TrialOptions } from '../../trial/trial.ts';
import { integrityOf, summed } from '../counted-integrity.ts';
import { onSystem } from '../on-system.ts';
import type { LoadJob, LoadResult } from './load-job.ts';
import { type LoadParams, sessionsOf } from './load-params.ts';
import { runStep } from './run-step.ts';

/** Enqueuers in a closed loop wait above this backlog, so that enqueue and dequeue are the same amount of work. */
const backlogMaxLeast = 5_000;
/** Time that opening, draining and closing may take beyond the phases before the trial counts as hanging. */
const graceMsDefault = 120_000;
/** Enqueuer numbers of a step start at a multiple of this. */
const enqueuersPerStep = 10_000;

/** The results of the processes of a step, and the queue's integrity so far. */
export interface Step {
  results: LoadResult[];
  integrity: Integrity;
}

export interface LoadTrialOptions {
  params: LoadParams;
  emulatedSyncMs?: number;
  /** How much longer than its phases the trial may take, milliseconds. */
  furtherMs?: number;
  /** Part of the name of its folder, if a trial has several. */
  part?: string;
}

/** Runs the steps, and ends everything that the trial started. Rejects with the first error of a process. */
export function onLoadedSystem<T>(
  options: TrialOptions,
  { params, emulatedSyncMs = 0, furtherMs = 0, part }: LoadTrialOptions,
  work: (trial: LoadTrial) => Promise<T>,
): Promise<T> {
  const { trial, phases, signal } = options;
  const system = systemOf(trial.system);
  const dir = part === undefined ? options.dir : `${options.dir}-${part}`;
  const { warmupMs, measureMs, drainMs } = phases;
  const limitMs = 2 * (warmupMs + measureMs) + drainMs + furtherMs + (options.graceMs ?? graceMsDefault);
  return onSystem(system, { dir, limitMs, signal }, (server, reached) =>
    work(new LoadTrial({ ...options, dir }, { system, params, emulatedSyncMs, server, reached })),
  );
}

interface LoadedSystem {
  system: System;
  params: LoadParams;
  emulatedSyncMs: number;
  server: Server | null;
  reached: Promise<never>;
}

export class LoadTrial {
  readonly #options: TrialOptions;
  readonly #loaded: LoadedSystem;
  readonly #history: LoadResult[] = [];
  #stepsRun = 0;

  constructor(options: TrialOptions, loaded: LoadedSystem) {
    this.#options = options;
    this.#loaded = loaded;
  }

  /** Client processes: one for each embedded instance, and one for all remote sessions. */
  get processes(): number {
    const { system, server } = this.#loaded;
    return server === null ? system.instances : 1;
  }

  /** How often each message is delivered: once to each subscriber, of a queue once. */
  get copies(): number {
    return Math.max(1, this.#loaded.params.subscribers ?? 0);
  }

  /** The usual step has enqueuers and dequeuers in a closed loop. */
  async step(change: Partial<LoadJob>): Promise<Step> {
    const { processes, copies } = this;
    const standing = this.#history.reduce(
      (sum, { committed, consumed }) => sum + committed - consumed / copies,
      0,
    );
    const jobs = Array.from({ length: processes }, (_, index) => {
      const job = { ...this.#job(index), standing: standing / processes, ...change };
      return { ...job, client: { ...job.client, enqueuers: job.enqueuers.length, dequeuers: job.dequeuers } };
    });
    const { reached } = this.#loaded;
    const results = await runStep({ jobs, reached, onOpen: this.#options.onOpen });
    this.#stepsRun += 1;
    this.#history.push(...results);
    const perCopy = Array.from({ length: copies }, (_, copy) =>
      integrityOf(
        this.#history.map(({ ledgers }) => ledgers[copy]!),
        results.reduce((sum, { depths }) => sum + depths[copy]!, 0),
      ),
    );
    return { results, integrity: summed(perCopy) };
  }

  #job(index: number): LoadJob {
    const { trial, scenario, phases, dir } = this.#options;
    const { system, params, emulatedSyncMs, server } = this.#loaded;
    const { operationsPerTransaction: operations, payloadBytes, subscribers = 0 } = params;
    const { enqueuers, dequeuers } = sessionsOf(params, system);
    const share = (sessions: number) =>
      Array.from({ length: sessions }, (_, session) => session).filter(
        (session) => session % this.processes === index,
      );
    const own = share(enqueuers);
    return {
      driver: system.driver,
      order: system.order,
      client: {
        dir,
        endpoints: server?.endpoints ?? [],
        durability: system.durability,
        process: index + 1,
        createsQueue: index === 0 && this.#stepsRun === 0,
        enqueuers: own.length,
        dequeuers: 0,
        operations,
        subscribers,
        emulatedSyncMs,
      },
      payloadBytes,
      seed: scenario.seed,
      nonce: (process.pid << 12) ^ trial.index,
      enqueuers: own.map((no) => this.#stepsRun * enqueuersPerStep + no),
      dequeuers: share(dequeuers).length,
      transactionsPerSec: null,
      backlogMax: Math.max(backlogMaxLeast, 2 * own.length * operations),
      standing: 0,
      warmupMs: phases.warmupMs,
      measureMs: phases.measureMs,
      drainMs: phases.drainMs,
      fill: null,
      serverPids: server?.pids ?? [],
      isKilled: false,
    };
  }
}

/** The backlog at which enqueuers wait, beside messages that stand in the queue. */
export const backlogMaxBeside = (standing: number): number => standing + backlogMaxLeast;
