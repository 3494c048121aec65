/** Singleton services in a cluster whose processes are killed, stopped and suspended: each has one holder, which every client reaches. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type Cluster,
  type ClusterClient,
  connectCluster,
  QueueError,
  type ServiceInfo,
  type ServiceSpec,
  type Session,
  startCluster,
} from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { isTorture } from '../random.ts';
import { waiting } from '../waiting.ts';

const module = fileURLToPath(new URL('./counter.ts', import.meta.url));
const tickCount = isTorture ? 300 : 6;
/** The number of ticks after which the holder is killed, again and again. */
const ticksPerKill = 2;
const fileCount = isTorture ? 200 : 12;
const filesPerKill = 4;

async function start(
  services: ServiceSpec[],
  dir = makeFolder(),
): Promise<{ dir: string; cluster: Cluster; client: ClusterClient }> {
  const cluster = await startCluster({ dir, instances: 2, services });
  onTestFinished(() => cluster.close());
  const client = connectCluster({ dir });
  onTestFinished(() => client.close());
  return { dir, cluster, client };
}

async function serviceOf(client: ClusterClient, name: string): Promise<ServiceInfo> {
  const services = await client.services();
  return services.find((service) => service.name === name)!;
}

/** Consumes messages; returns a property of each, or none if their instance ended before the commit. */
async function takeProperty(session: Session, queue: string, property: string): Promise<string[]> {
  try {
    const messages = await session.dequeue(queue, { max: 100, waitMs: 10_000 });
    const values = messages.map(({ properties }) => properties![property]!);
    await session.commit();
    return values;
  } catch (error) {
    if (error instanceof QueueError && error.retryable) return [];
    throw error;
  }
}

/** Kills the holder from outside, so that the supervisor restarts it. */
async function killHolder(client: ClusterClient, name: string): Promise<void> {
  const { holder } = await vi.waitFor(async () => {
    const service = await serviceOf(client, name);
    expect(service).toBeDefined(); // No instance has the service while its instance moves.
    return service;
  }, waiting);
  process.kill(holder.pid, 'SIGKILL');
}

describe('a singleton service of a cluster', () => {
  it('moves when its process is killed, suspended and stopped, and returns to the preferred instance', {
    timeout: 120_000,
  }, async () => {
    const dir = makeFolder();
    const events = join(dir, 'events');
    const services: ServiceSpec[] = [
      { name: 'kept', preferred: 2, module, options: { kept: true } },
      { name: 'counter', preferred: 2, module, options: { events } },
    ];
    const { cluster, client } = await start(services, dir);
    expect(await client.callService('counter', 'add', 8)).toBe(13);
    await client.callService('kept', 'add', 8);
    const other = connectCluster({ dir });
    onTestFinished(() => other.close());
    expect(await other.callService('counter', 'get')).toBe(13);

    const untilOn = (instance: number) =>
      vi.waitFor(async () => {
        const service = await serviceOf(client, 'counter');
        expect(service).toMatchObject({ status: 'active', preferred: 2, holder: { instance } });
      }, waiting);
    await untilOn(2);
    cluster.kill(2);
    await untilOn(1);
    expect(await other.callService('counter', 'get')).toBe(5);
    expect(await other.callService('kept', 'get')).toBe(13);
    await cluster.start(2);
    await untilOn(2);
    cluster.pause(2);
    await untilOn(1);
    await cluster.start(2);
    await untilOn(2);
    await cluster.stop(2);
    await untilOn(1);
    expect(await client.callService('kept', 'add', 1)).toBe(14);

    const { history } = await serviceOf(client, 'counter');
    expect(history.map(({ host }) => host)).toEqual([2, 1, 2, 1, 2, 1]);
    const epochs = history.map(({ epoch }) => epoch);
    expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => a - b));
    // Only killed holders could not record their end: the first one, and the suspended one.
    expect(history.map(({ deactivatedAtMs }) => deactivatedAtMs !== null)).toEqual([
      false,
      true,
      false,
      true,
      true,
      false,
    ]);
    for (const [index, { activatedAtMs }] of history.entries())
      expect(activatedAtMs).toBeGreaterThanOrEqual(history[index - 1]?.deactivatedAtMs ?? 0);
    const recorded = readFileSync(events, 'utf8').trim().split('\n');
    expect(recorded.map((line) => line.split(' ')[0]).join(' ')).toBe(
      'activate activate deactivate activate activate deactivate activate deactivate activate',
    );
    await expect(client.callService('nobody', 'get')).rejects.toMatchObject({ code: 'SERVICE_NOT_FOUND' });
    await expect(cluster.remove(2)).rejects.toMatchObject({ code: 'INSTANCE_IS_HOME' });
  });

  it(`ticks exactly once in each of ${tickCount} seconds while its holder is killed`, {
    timeout: 900_000,
  }, async () => {
    const timer = { name: 'clock', module: 'timer', options: { schedule: '* * * * * *', queue: 'ticks' } };
    const { client } = await start([timer]);
    await client.createQueue({ name: 'ticks' });
    const session = client.openSession();
    const ticks: string[] = [];
    let kills = 0;
    while (ticks.length < tickCount) {
      ticks.push(...(await takeProperty(session, 'ticks', 'tick')));
      if (ticks.length < (kills + 1) * ticksPerKill) continue;
      kills += 1;
      await killHolder(client, 'clock');
    }
    console.info(`timer: ${ticks.length} ticks, ${kills} holders killed`);
    const times = ticks.map((tick) => Date.parse(tick)).sort((a, b) => a - b);
    for (const [index, timeMs] of times.entries())
      if (index > 0) expect(timeMs - times[index - 1]!).toBe(1_000);
    expect(kills).toBeGreaterThan(1);
  });

  it(`enqueues each of ${fileCount} files once while its holder is killed`, {
    timeout: 900_000,
  }, async () => {
    const folder = makeFolder();
    const options = { folder, queue: 'files', suffix: '.txt', pollMs: 10, settleMs: 0 };
    const { client } = await start([{ name: 'inbox', module: 'folder-poller', options }]);
    await client.createQueue({ name: 'files' });
    const session = client.openSession();
    const written: string[] = [];
    const taken: string[] = [];
    const takeSome = async () => void taken.push(...(await takeProperty(session, 'files', 'file')));
    for (let kill = 1; written.length < fileCount; kill += 1) {
      for (let file = 1; file <= filesPerKill; file += 1) {
        const name = `${kill}-${file}.txt`;
        writeFileSync(join(folder, name), name);
        written.push(name);
      }
      // The kills come in turn before files are enqueued, and while enqueued files are moved.
      const before = taken.length;
      while (kill % 2 === 0 && taken.length === before) await takeSome();
      await killHolder(client, 'inbox');
      while (taken.length < written.length) await takeSome();
    }
    // Moved files are not read again, so by now the queue has all messages that the files can become.
    const moved = () => readdirSync(join(folder, 'done')).sort();
    await vi.waitFor(() => expect(moved()).toEqual([...written].sort()), waiting);
    await vi.waitFor(async () => {
      const stats = await client.queueStats('files');
      expect(stats.map(({ total }) => total.depth)).toEqual([0, 0]);
    }, waiting);
    expect(taken.sort()).toEqual([...written].sort());
  });
});
