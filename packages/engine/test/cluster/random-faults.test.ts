/**
 * Processes of a cluster are killed, stopped, resumed and started again at random, one or all at once, under remote load. For a
 * longer run: `CLUSTER_FAULTS=300 npx vitest run packages/engine/test/cluster/random-faults.test.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Cluster, connect, QueueError, startCluster } from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { drawnSeed, random } from '../random.ts';
import { readLeft } from './ledger.ts';
import { RemoteLoad } from './remote-load.ts';

const faults = Number(process.env.CLUSTER_FAULTS ?? 6);
const instances = [1, 2, 3];
const pauseMsMax = 1_200;

type Fault = (cluster: Cluster, instance: number, next: () => number) => Promise<void>;

/** Ignores that the process is not running: an earlier fault may have ended it, or it may be killed while it is stopped. */
async function ifRunning(act: () => void | Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof QueueError) || error.code !== 'PROCESS_NOT_RUNNING') throw error;
  }
}

const kill = (cluster: Cluster, instance: number) => ifRunning(() => cluster.kill(instance));

const kinds: readonly Fault[] = [
  kill,
  kill,
  async (cluster, instance) => {
    await kill(cluster, instance);
    await kill(cluster, 1 + (instance % instances.length));
  },
  async (cluster) => {
    for (const each of instances) await kill(cluster, each);
  },
  (cluster, instance) => ifRunning(() => cluster.pause(instance)),
  // A short stop: the process resumes before its lease lapses, at that moment, or after it was replaced.
  async (cluster, instance, next) => {
    await ifRunning(() => cluster.pause(instance));
    await pause(next() * 1_500);
    await ifRunning(() => cluster.resume(instance));
  },
  (cluster, instance) => ifRunning(() => cluster.stop(instance)),
];

it(`${faults} faults at random lose nothing, duplicate nothing and keep the order`, {
  timeout: 60_000 + faults * 10_000,
}, async () => {
  const seed = drawnSeed;
  console.info(`random faults: seed ${seed}`);
  const next = random(seed);
  const events: string[] = [];
  const cluster = await startCluster({
    dir: makeFolder(),
    instances: instances.length,
    partitionMessagesMax: 64,
    restart: false, // The test restarts processes itself.
    onEvent: ({ type, instance, signal }) => void events.push(`${type} ${instance} ${signal ?? ''}`),
  });
  onTestFinished(() => cluster.close());
  const remote = await connect({ dir: cluster.dir });
  await remote.createQueue({ name: 'q', forwarding: false, attemptsMax: null }); // Each instance has its own consumer.
  await remote.close();
  const load = new RemoteLoad(cluster.dir);
  for (const instance of instances) await load.connect(instance);
  for (let fault = 0; fault < faults; fault += 1) {
    const instance = 1 + Math.floor(next() * instances.length);
    await kinds[Math.floor(next() * kinds.length)]!(cluster, instance, next);
    await pause(next() * pauseMsMax);
    for (const each of instances) await startAgain(cluster, each);
    if (next() < 0.5) await untilAtWork(cluster, load);
  }
  await untilAtWork(cluster, load);
  await load.end();
  await cluster.close();
  load.expectSound(await readLeft(cluster.dir, instances));
  const killed = events.filter(
    (event) => event.startsWith('process:ended') && event.endsWith('SIGKILL'),
  ).length;
  const takenOver = events.filter((event) => event.startsWith('instance:taken-over')).length;
  console.info(`random faults: ${killed} processes killed, ${takenOver} instances taken over`);
});

/** A stopped process counts as running until a survivor has killed it. */
async function startAgain(cluster: Cluster, instance: number): Promise<void> {
  try {
    await cluster.start(instance);
  } catch (error) {
    const known = ['PROCESS_RUNNING', 'PROCESS_NOT_RUNNING'];
    if (!(error instanceof QueueError) || !known.includes(error.code)) throw error;
  }
}

async function untilAtWork(cluster: Cluster, load: RemoteLoad): Promise<void> {
  await vi.waitFor(() => expect(cluster.topology().every(({ state }) => state !== 'down')).toBe(true), {
    timeout: 30_000,
    interval: 10,
  });
  for (const instance of instances) await load.progress(instance, 10);
}
