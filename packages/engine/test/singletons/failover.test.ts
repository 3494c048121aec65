/** Singleton services over processes that are killed, stopped and suspended: one holder, which every client reaches. */
import { readFileSync } from 'node:fs';
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

const module = fileURLToPath(new URL('./counter.ts', import.meta.url));
const generous = { timeout: 30_000, interval: 20 };
const tickCount = isTorture ? 300 : 6;
/** The holder is killed after so many ticks, over and over. */
const ticksPerKill = 2;

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

/** Ticks whose consumption was committed; none if the instance that had them ended before. */
async function takeTicks(session: Session): Promise<string[]> {
  try {
    const messages = await session.dequeue('ticks', { max: 100, waitMs: 10_000 });
    const ticks = messages.map(({ properties }) => properties!.tick!);
    await session.commit();
    return ticks;
  } catch (error) {
    if (error instanceof QueueError && error.retryable) return [];
    throw error;
  }
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
      }, generous);
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
    // Only those that were killed could not tell when they ended: the first, and the one that was suspended.
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
    const told = readFileSync(events, 'utf8').trim().split('\n');
    expect(told.map((line) => line.split(' ')[0]).join(' ')).toBe(
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
      ticks.push(...(await takeTicks(session)));
      if (ticks.length < (kills + 1) * ticksPerKill) continue;
      kills += 1;
      const { holder } = await vi.waitFor(async () => {
        const service = await serviceOf(client, 'clock');
        expect(service).toBeDefined(); // its instance may be moving
        return service;
      }, generous);
      // As from outside: the supervisor starts it again.
      process.kill(holder.pid, 'SIGKILL');
    }
    console.info(`timer: ${ticks.length} ticks, ${kills} holders killed`);
    const times = ticks.map((tick) => Date.parse(tick)).sort((a, b) => a - b);
    for (const [index, timeMs] of times.entries())
      if (index > 0) expect(timeMs - times[index - 1]!).toBe(1_000);
    expect(kills).toBeGreaterThan(1);
  });
});
