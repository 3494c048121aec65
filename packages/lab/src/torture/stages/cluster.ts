/**
 * A cluster of three processes and a client in a process of its own: processes of the cluster are killed, stopped and
 * started again, one or all at once, and survivors take their instances over; so is the client. In the end the cluster
 * closes, and what the folder holds is compared with what is known.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, QueueError, startCluster } from '@shardlab/engine';
import { Ledger } from '../ledger.ts';
import { Life } from '../life.ts';
import type { Random } from '../random.ts';
import { partitionMessagesMax, type WorkerTask } from '../task.ts';
import { inspectFolder } from './inspect-folder.ts';
import { noteAll, type Stage, type StageOptions } from './stage.ts';

const instances = 3;
const killsPerFolder = 12;
const actorsAtOnce = 2;
const pauseMsMax = 700;

type Fault = (cluster: Cluster, random: Random, onKill: (phase: string) => void) => Promise<void>;

const anyInstance = (random: Random) => 1 + random.below(instances);

/** It may be down already, or be ended by a survivor while it is stopped. */
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
  const instance = anyInstance(random);
  if (await ifRunning(() => cluster.kill(instance))) onKill('process of a cluster');
};

const killAll: Fault = async (cluster, _random, onKill) => {
  for (let instance = 1; instance <= instances; instance += 1) {
    if (await ifRunning(() => cluster.kill(instance))) onKill('all of a cluster at once');
  }
};

/** Its lease lapses, and a survivor ends it before it takes over; or it wakes up in time, or just then. */
const stopOne: Fault = async (cluster, random, onKill) => {
  const instance = anyInstance(random);
  if (!(await ifRunning(() => cluster.pause(instance)))) return;
  onKill('stopped, then ended or woken');
  await pause(random.below(2_000));
  await ifRunning(() => cluster.resume(instance));
};

const faults: readonly Fault[] = [killOne, killOne, killOne, killAll, stopOne];

export const clusterStage: Stage = {
  name: 'cluster',
  plays: () => true,
  run: (options) => new ClusterFolder(options).run(),
};

class ClusterFolder {
  readonly #options: StageOptions;
  readonly #random: Random;
  readonly #ledger = new Ledger({ sharedOrder: false });
  readonly #lives: { life: Life; name: string }[] = [];
  readonly #actorsUsed = new Set<string>();

  constructor(options: StageOptions) {
    this.#options = options;
    this.#random = options.random.fork();
  }

  async run(): Promise<void> {
    const { dir, onChecked } = this.#options;
    const cluster = await startCluster({ dir, instances, partitionMessagesMax });
    try {
      await this.#torment(cluster);
    } finally {
      await cluster.close();
    }
    noteAll(this.#ledger, this.#lives);
    await inspectFolder({ dir, instances, actors: this.#actorsUsed }, this.#ledger);
    onChecked(this.#ledger.takeTotals());
  }

  async #torment(cluster: Cluster): Promise<void> {
    const { onKill, isDone } = this.#options;
    let client = this.#startClient();
    let kills = 0;
    const count = (phase: string) => {
      kills += 1;
      onKill(phase);
    };
    while (kills < killsPerFolder && !isDone()) {
      await client.untilWorking();
      await pause(this.#random.next() * pauseMsMax);
      if (this.#random.chance(0.25)) {
        await client.kill();
        count('client of a cluster');
        client = this.#startClient();
      } else await this.#random.pick(faults)(cluster, this.#random, count);
      await pause(this.#random.next() * pauseMsMax);
      await startAgain(cluster);
      if (client.failed) break;
    }
    await client.kill();
  }

  #startClient(): Life {
    const { dir, actorNames } = this.#options;
    const chosen = this.#random.some(actorNames, actorsAtOnce);
    for (const name of chosen) this.#actorsUsed.add(name);
    const name = `c${this.#lives.length}`;
    const task: WorkerTask = {
      dir,
      connectTo: [1, 2, 3],
      life: name,
      seed: this.#random.below(2 ** 31),
      actors: chosen,
    };
    const life = new Life(task);
    this.#lives.push({ life, name });
    return life;
  }
}

/** A stopped process counts as running until a survivor has ended it. */
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
