/**
 * Shows whether durability is real: runs the load of a trial, kills all its processes with SIGKILL while it runs, opens the
 * folder with new processes, and compares what they find with the books of the killed ones. It shows what survives the end of
 * processes. It cannot show what survives a power cut: that the engine syncs is verified by counting syncs and by tests with
 * failing disks.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { KilledTrial, Params, Phases } from '@shardlab/contract';
import { readBookFolder } from '../../../integrity/book.ts';
import { judgeKilled } from '../../../integrity/judge-killed.ts';
import type { LedgerReport } from '../../../integrity/ledger.ts';
import { createMonotonicClock } from '../../../meters/clock.ts';
import { sharesOneTable } from '../../../systems/queue-systems.ts';
import { killedLoadMsOf } from '../../../trial/killed-load.ts';
import type { KilledTrialOptions, Trial } from '../../../trial/trial.ts';
import { TrialLimit } from '../../../trial/trial-limit.ts';
import { queueParamsOf } from '../points/queue-params.ts';
import { BacklogShares } from './backlog-shares.ts';
import { layoutOf } from './layout.ts';
import type { Timeline, WorkerConfig } from './protocol.ts';
import { startRemote, type TrialCluster } from './trial-cluster.ts';
import { configFor, type QueueTrialOptions } from './worker-config.ts';
import { openAll, WorkerProcess } from './worker-process.ts';

/** Then the new processes stop dequeuing and browse what is left. */
const drainMs = 20_000;
const graceMs = 60_000;
/** Large transactions, so that the new processes read the folder quickly. */
const recoveryOperations = 100;
/** Larger backlogs would take longer to read than everything else: a trial of such a point is killed with this one. */
const killedBacklogMax = 100_000;

/** Twice the start of the processes, the load, and a second for reading the folder. */
export function estimateKilledMs(params: Params, phases: Phases): number {
  return killedLoadMsOf(phases) + 1_000 + 2 * (250 + 120 * (queueParamsOf(params).instances - 1));
}

export type KilledQueueTrialOptions = KilledTrialOptions & Pick<QueueTrialOptions, 'otherHost'>;

/** Rejects as `runTrial` does, and if the new processes cannot open the folder. */
export async function runKilledTrial(options: KilledQueueTrialOptions): Promise<KilledTrial> {
  const { trial, phases, dir, signal } = options;
  const loadMs = killedLoadMsOf(phases);
  const limit = new TrialLimit(loadMs + drainMs + (options.graceMs ?? graceMs), signal);
  const queueDir = join(dir, 'queue');
  const bookDir = join(dir, 'books');
  const life = new Life({ ...options, trial: withReadableBacklog(trial), dir: queueDir });
  try {
    signal?.throwIfAborted();
    await mkdir(queueDir, { recursive: true });
    await mkdir(bookDir);
    await Promise.race([killUnderLoad(life, bookDir, loadMs), limit.reached]);
    await options.onKilled?.(queueDir);
    const recovered = await Promise.race([recover(life), limit.reached]);
    return judgeKilled({
      durability: queueParamsOf(trial.params).durability,
      sources: layoutOf(trial).dequeueSources.length,
      books: await readBookFolder(bookDir),
      recovered,
    });
  } finally {
    limit.clear();
    await life.end();
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

function withReadableBacklog(trial: Trial): Trial {
  const backlog = Math.min(queueParamsOf(trial.params).backlog, killedBacklogMax);
  return { ...trial, params: { ...trial.params, backlog } };
}

async function killUnderLoad(life: Life, bookDir: string, loadMs: number): Promise<void> {
  const { workers } = await life.begin((config) => ({
    ...config,
    book: join(bookDir, `instance-${config.instance}`),
  }));
  // The enqueuers stop only long after the kill.
  life.run({ stopAfterMs: 2 * loadMs + drainMs, drainMs });
  // A process that fails rejects here; none ends its work before the kill.
  await Promise.race([pause(loadMs), ...workers.map((worker) => worker.receive('drained'))]);
  await life.kill();
}

/** The ledgers of the new processes, which consume all they can and browse the rest. */
async function recover(life: Life): Promise<LedgerReport[][]> {
  const { trial } = life.options;
  const { workers } = await life.begin((config) => ({
    ...config,
    createsQueues: false,
    enqueuers: [],
    // One dequeuer alone sees the order of an unsharded queue, which all instances share.
    dequeuers: sharesOneTable(trial.system) && config.instance > 1 ? 0 : 1,
    backlog: 0,
    roundTripMs: 0,
    rows: 'none',
    operationsPerTransaction: recoveryOperations,
    orderScope: 'recovered',
  }));
  life.run({ stopAfterMs: 0, drainMs });
  await Promise.all(workers.map((worker) => worker.receive('enqueuersDone')));
  for (const worker of workers) worker.send({ type: 'sealed' });
  await Promise.all(workers.map((worker) => worker.receive('drained')));
  for (const worker of workers)
    worker.send({ type: 'finish', browse: !sharesOneTable(trial.system) || worker.instance === 1 });
  const answers = await Promise.all(workers.map((worker) => worker.receive('result')));
  await Promise.all(workers.map((worker) => worker.disconnect()));
  return answers.map(({ result }) => result.ledgers);
}

/** The processes that work on the folder at one time: first those that are killed, then those that read what is left. */
class Life {
  readonly options: KilledQueueTrialOptions;
  readonly #clock = createMonotonicClock();
  #workers: readonly WorkerProcess[] = [];
  #cluster: TrialCluster | null = null;

  constructor(options: KilledQueueTrialOptions) {
    this.options = options;
  }

  /** Starts and opens all instances, as the trial has them but for the changes. */
  async begin(
    change: (config: WorkerConfig) => WorkerConfig,
  ): Promise<{ workers: readonly WorkerProcess[] }> {
    const { instances } = queueParamsOf(this.options.trial.params);
    this.#cluster = await startRemote(this.options, this.#clock);
    const workers: WorkerProcess[] = [];
    const shares = new BacklogShares(workers);
    for (let instance = 1; instance <= instances; instance += 1)
      workers.push(
        new WorkerProcess(instance, { onBacklog: (messages) => shares.update(instance, messages) }),
      );
    this.#workers = workers;
    await openAll(this.#workers.map((worker) => [worker, change(configFor(worker.instance, this.options))]));
    return { workers: this.#workers };
  }

  run({ stopAfterMs, drainMs }: { stopAfterMs: number; drainMs: number }): void {
    const now = this.#clock();
    const stopAtMs = now + stopAfterMs;
    const timeline: Timeline = {
      warmupAtMs: now,
      measureAtMs: now,
      stopAtMs,
      drainUntilMs: stopAtMs + drainMs,
    };
    for (const worker of this.#workers) worker.send({ type: 'run', timeline });
  }

  /** Kills the serving processes of remote sessions first; a session that loses its instance acknowledges nothing more. */
  async kill(): Promise<void> {
    await this.#cluster?.killAll();
    await this.end();
  }

  /** Kills what still runs. */
  async end(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    await this.#cluster?.close();
    this.#workers = [];
    this.#cluster = null;
  }
}
