/**
 * A cluster of three processes and a client in its own process. The client and the cluster's processes are killed,
 * suspended and restarted, one at a time or all at once, by the cluster or from outside, and survivors take the instances
 * over. Finally the cluster is closed and the contents of the folder are added to the history, which is judged.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, QueueError, startCluster } from '@shardlab/engine';
import { FolderHistory } from '../processes/folder-history.ts';
import { Draws, type Random } from '../processes/random.ts';
import { TortureProcess } from '../processes/torture-process.ts';
import { partitionMessagesMax, type WorkerTask } from '../processes/worker-task.ts';
import { inspectFolder } from './inspect-folder.ts';
import type { SetupOptions, TortureSetup } from './setup.ts';

const instances = 3;
const killsPerFolder = 12;
const workloadsAtOnce = 2;
/** Before a fault: the client works. */
const workMsMax = 300;
/** Maximum time between a kill and the restart of its processes, in which survivors take over. */
const takeoverMsMax = 700;
/** Time limit for restarts, which normally take about a second. */
const restartedMsMax = 60_000;

type Fault = (cluster: Cluster, random: Random, onKill: (phase: string) => void) => Promise<void>;

const randomInstance = (random: Random) => 1 + random.below(instances);

/** Returns false if the process is already down; a survivor may have killed it while it was suspended. */
async function ifRunning(act: () => void): Promise<boolean> {
  try {
    act();
    return true;
  } catch (error) {
    if (error instanceof QueueError && error.code === 'PROCESS_NOT_RUNNING') return false;
    throw error;
  }
}

const killOne: Fault = async (cluster, random, onKill) => {
  const instance = randomInstance(random);
  if (await ifRunning(() => cluster.kill(instance))) onKill('cluster: one process');
};

const killAll: Fault = async (cluster, _random, onKill) => {
  for (let instance = 1; instance <= instances; instance += 1) {
    if (await ifRunning(() => cluster.kill(instance))) onKill('cluster: all processes at once');
  }
};

/** Kills processes from outside, which the cluster itself must restart. */
const crashSome: Fault = async (cluster, random, onKill) => {
  const running = cluster
    .topology()
    .flatMap(({ instance, process }) =>
      process?.state === 'running' ? [{ instance, pid: process.pid }] : [],
    );
  const killed = new Set<number>();
  for (const { instance, pid } of running) {
    if (!random.chance(0.7)) continue;
    process.kill(pid, 'SIGKILL');
    killed.add(instance);
    onKill('cluster: from outside');
  }
  await untilRestarted(cluster, killed);
};

/** Others may be down for good until they are started: a survivor may just have killed one that was suspended before. */
async function untilRestarted(cluster: Cluster, instances: ReadonlySet<number>): Promise<void> {
  const untilMs = performance.now() + restartedMsMax;
  const isDown = () =>
    cluster
      .topology()
      .some(
        ({ instance, restart, process }) => instances.has(instance) && (restart !== null || process === null),
      );
  while (isDown()) {
    if (performance.now() > untilMs)
      throw new Error('Processes that were killed from outside are not restarted');
    await pause(20);
  }
}

/**
 * The paused process resumes before its lease lapses, at the same moment, or later: then a survivor has killed it and taken over.
 */
const stopOne: Fault = async (cluster, random, onKill) => {
  const instance = randomInstance(random);
  if (!(await ifRunning(() => cluster.pause(instance)))) return;
  onKill('cluster: suspended, then killed or resumed');
  await pause(random.below(2_000));
  await ifRunning(() => cluster.resume(instance));
};

/** `inject` of null: the client is killed. */
const faults: readonly { inject: Fault | null; weight: number }[] = [
  { inject: null, weight: 2 },
  { inject: killOne, weight: 3 },
  { inject: killAll, weight: 1 },
  { inject: stopOne, weight: 1 },
  { inject: crashSome, weight: 1 },
];

export const clusterSetup: TortureSetup = {
  name: 'cluster',
  supports: () => true,
  run: (options) => new ClusterTorture(options).run(),
};

class ClusterTorture {
  readonly #options: SetupOptions;
  readonly #random: Random;
  readonly #history = new FolderHistory();
  readonly #processes: { process: TortureProcess; name: string }[] = [];
  readonly #workloadsUsed = new Set<string>();

  constructor(options: SetupOptions) {
    this.#options = options;
    this.#random = options.random.fork();
  }

  async run(): Promise<void> {
    const { dir, onChecked } = this.#options;
    const cluster = await startCluster({ dir, instances, partitionMessagesMax });
    try {
      this.#history.recordFaultsFromNow();
      await this.#injectFaults(cluster);
    } finally {
      await cluster.close();
    }
    for (const { process, name } of this.#processes) this.#history.addProcess(process, name);
    await inspectFolder({ dir, instances, workloads: this.#workloadsUsed }, this.#history);
    onChecked(this.#history.takeTotals());
  }

  async #injectFaults(cluster: Cluster): Promise<void> {
    const { onKill, isDone } = this.#options;
    const draws = new Draws(faults, this.#random);
    let client = this.#startClient();
    let kills = 0;
    const count = (phase: string) => {
      kills += 1;
      onKill(phase);
    };
    while (kills < killsPerFolder && !isDone()) {
      await client.waitUntilWorking();
      await pause(this.#random.next() * workMsMax);
      const { inject } = draws.next();
      if (inject === null) {
        await client.kill();
        count('cluster: the client');
        client = this.#startClient();
      } else await inject(cluster, this.#random, count);
      await pause(this.#random.next() * takeoverMsMax);
      await startAgain(cluster);
      if (client.failed) break;
    }
    await client.kill();
  }

  #startClient(): TortureProcess {
    const { dir, workloadNames } = this.#options;
    const chosen = this.#random.pickSeveral(workloadNames, workloadsAtOnce);
    for (const name of chosen) this.#workloadsUsed.add(name);
    const name = `c${this.#processes.length}`;
    const task: WorkerTask = {
      dir,
      connectTo: [1, 2, 3],
      processName: name,
      seed: this.#random.below(2 ** 31),
      workloads: chosen,
    };
    const process = new TortureProcess(task);
    this.#processes.push({ process, name });
    return process;
  }
}

/** Restarts processes that are down. A suspended process counts as running until a survivor has killed it. */
async function startAgain(cluster: Cluster): Promise<void> {
  for (let instance = 1; instance <= instances; instance += 1) {
    try {
      await cluster.start(instance);
    } catch (error) {
      const known = ['PROCESS_RUNNING', 'PROCESS_NOT_RUNNING'];
      if (!(error instanceof QueueError && known.includes(error.code))) throw error;
    }
  }
}
