/**
 * Messages are enqueued on one instance and dequeued on another, while the process of either or both is killed, stopped and started
 * again. For a longer run: `FORWARDING_FAULTS=100 npx vitest run packages/engine/test/cluster/forwarding-kills.test.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Cluster, connect, type InstanceTopology, startCluster } from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { drawnSeed, random } from '../random.ts';
import { RemoteLoad } from './remote-load.ts';

const owner = 1;
const receiver = 2;
/** The third instance also sends. It is killed only together with all others, and takes over from them. */
const other = 3;
const instances = [owner, receiver, other];

/** Which processes are killed at once, and whether a survivor has time to take over before they are started again. */
const kinds = [
  { killed: [owner], takenOver: true },
  { killed: [receiver], takenOver: true },
  { killed: [owner, receiver], takenOver: true },
  { killed: [owner], takenOver: false },
  { killed: [receiver], takenOver: false },
  { killed: instances, takenOver: false },
];
const faults = Number(process.env.FORWARDING_FAULTS ?? kinds.length);
const pauseMsMax = 150;

async function until(cluster: Cluster, holds: (instance: InstanceTopology) => boolean): Promise<void> {
  const check = () => expect(cluster.topology().every(holds)).toBe(true);
  await vi.waitFor(check, { timeout: 120_000, interval: 10 });
}

it(`${faults} kills while messages move lose nothing, duplicate nothing and keep the order`, {
  timeout: 180_000 + faults * 20_000,
}, async () => {
  const seed = drawnSeed;
  console.info(`kills while messages move: seed ${seed}`);
  const next = random(seed);
  const cluster = await startCluster({
    dir: makeFolder(),
    instances: instances.length,
    partitionMessagesMax: 64,
    restart: false, // The test restarts processes itself.
  });
  onTestFinished(() => cluster.close());
  const remotes = await Promise.all(instances.map((instance) => connect({ dir: cluster.dir, instance })));
  await remotes[0]!.createQueue({ name: 'q', attemptsMax: null });
  const load = new RemoteLoad(cluster.dir, { forwards: true });
  await load.connect(owner, { enqueuers: 2, dequeuers: 0 });
  await load.connect(other, { enqueuers: 1, dequeuers: 0 });
  await load.connect(receiver, { enqueuers: 0, dequeuers: 1 });
  for (let fault = 0; fault < faults; fault += 1) {
    const { killed, takenOver } = kinds[fault % kinds.length]!;
    await load.progress(receiver);
    await pause(next() * pauseMsMax);
    for (const instance of killed) cluster.kill(instance);
    if (takenOver) {
      await until(cluster, ({ host }) => host?.instance != null && !killed.includes(host.instance));
      await load.progress(receiver);
    }
    await until(cluster, ({ instance, process }) => process === null || !killed.includes(instance));
    for (const instance of killed) await cluster.start(instance);
    await until(cluster, ({ state }) => state === 'up');
  }
  await load.drain();
  await load.end();
  load.expectSound([]);

  const queues = async () => {
    const infos = await Promise.all(remotes.map((remote) => remote.queue('q')));
    for (const { enqueued, forwardedIn, forwardedOut, consumed, ready, held } of infos)
      expect(enqueued + forwardedIn).toBe(ready + held + consumed + forwardedOut);
    const sum = (key: 'enqueued' | 'consumed' | 'forwardedIn' | 'forwardedOut' | 'ready' | 'held') =>
      infos.reduce((total, info) => total + info[key], 0);
    return {
      enqueued: sum('enqueued'),
      consumed: sum('consumed'),
      inTransfer: sum('forwardedIn') - sum('forwardedOut'),
      unconsumed: sum('ready') + sum('held'),
      consumedElsewhere: infos[0]!.consumed + infos[2]!.consumed,
    };
  };
  const messages = load.enqueued.size;
  await expect.poll(queues, { timeout: 10_000 }).toEqual({
    enqueued: messages,
    consumed: messages,
    inTransfer: 0,
    unconsumed: 0,
    consumedElsewhere: 0,
  });
  console.info(`kills while messages move: ${messages} messages`);
  for (const remote of remotes) await remote.close();
});
