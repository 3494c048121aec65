/**
 * Slow is not dead: processes whose event loop stands still, and processes beside many busy ones on too few cores, are reported and not
 * killed. `npm run torture` has the long form of the second: three instances for five minutes beside 20 busy processes.
 */
import { spawn } from 'node:child_process';
import { describe, expect, it, onTestFailed, onTestFinished, vi } from 'vitest';
import { type Cluster, type ClusterOptions, connect, connectCluster, startCluster } from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { isTorture } from '../random.ts';
import { waiting } from '../waiting.ts';
import { readLeft } from './ledger.ts';
import { RemoteLoad } from './remote-load.ts';

const module = new URL('./blocking.ts', import.meta.url).href;
const busyProcesses = isTorture ? 20 : 4;
const loadedMs = isTorture ? 300_000 : 5_000;

async function start(options: Partial<ClusterOptions>): Promise<Cluster> {
  const cluster = await startCluster({ dir: makeFolder(), partitionMessagesMax: 64, ...options });
  onTestFinished(() => cluster.close());
  onTestFailed(() =>
    console.info(
      cluster
        .events()
        .slice(-60)
        .map((event) => JSON.stringify(event))
        .join('\n'),
    ),
  );
  return cluster;
}

const eventsOf = (cluster: Cluster, ...types: string[]) =>
  cluster.events().filter(({ type }) => types.includes(type));

function expectNoneKilled(cluster: Cluster): void {
  expect(
    eventsOf(cluster, 'instance:taken-over', 'process:hung', 'process:restarting', 'takeover:blocked'),
  ).toEqual([]);
  expect(cluster.events().filter(({ signal }) => signal !== undefined)).toEqual([]);
}

describe('a process whose event loop makes no turn', () => {
  it('is reported and avoided while it is slow, and is not killed', { timeout: 60_000 }, async () => {
    const services = [{ name: 'blocking', preferred: 2, module: new URL(module).pathname }];
    const cluster = await start({ instances: 2, services });
    const client = connectCluster({ dir: cluster.dir });
    onTestFinished(() => client.close());
    await client.createQueue({ name: 'q' });
    const pids = () => cluster.topology().map(({ process }) => process!.pid);
    const before = pids();
    const unresponsiveMs = () => cluster.topology().map(({ host }) => host?.unresponsiveMs ?? null);
    await vi.waitFor(() => expect(unresponsiveMs()).toEqual([null, null]), waiting);

    const blocked = client.callService('blocking', 'block', 5_000);
    await vi.waitFor(() => expect(unresponsiveMs()[1]).toBeGreaterThan(2_000), waiting);
    expect(cluster.topology()[1]).toMatchObject({ state: 'up', process: { state: 'running' } });
    const session = client.openSession(); // New sessions go to the other instance.
    session.enqueue('q', { payload: 'm' });
    const { ids } = await session.commit();
    expect(ids).toHaveLength(1);
    expect(await blocked).toBe(before[1]);
    await vi.waitFor(() => {
      expect(unresponsiveMs()).toEqual([null, null]);
      expect(eventsOf(cluster, 'process:responsive').some(({ instance }) => instance === 2)).toBe(true);
    }, waiting);
    const [slow] = eventsOf(cluster, 'process:slow').filter(({ instance }) => instance === 2);
    expect(slow).toMatchObject({ pid: before[1], code: 'PROCESS_SLOW' });
    expect(pids()).toEqual(before);
    expectNoneKilled(cluster);
  });

  it('is not killed while it starts', { timeout: 60_000 }, async () => {
    const cluster = await start({ instances: 1, extension: { module, options: 11_000 } });
    expect(cluster.topology()).toMatchObject([{ state: 'up', epoch: 1 }]);
    expectNoneKilled(cluster);
  });
});

/** Keeps a core busy until the process of the test has ended, at the latest. */
function startBusyProcess(): void {
  const child = spawn('sh', ['-c', `while kill -0 ${process.pid} 2>/dev/null; do :; done`], {
    stdio: 'ignore',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
}

describe(`a cluster beside ${busyProcesses} busy processes`, () => {
  it('is resized under load for a while, kills nothing and loses nothing', {
    timeout: loadedMs + 240_000,
  }, async () => {
    const cluster = await start({ instances: 3 });
    const counts: Record<string, number> = {};
    const remote = await connect({ dir: cluster.dir });
    await remote.createQueue({ name: 'q', forwarding: false }); // each instance has its own consumer
    await remote.close();
    const load = new RemoteLoad(cluster.dir);
    for (const instance of [1, 2, 3]) await load.connect(instance);
    for (let busy = 0; busy < busyProcesses; busy += 1) startBusyProcess();
    const untilMs = performance.now() + loadedMs;
    let resizes = 0;
    do {
      expect(await cluster.add()).toBe(4);
      await load.connect(4, resizes === 0 ? {} : { dequeuers: 0 });
      await load.progress(4, 20);
      await cluster.remove(4);
      await vi.waitFor(() => expect(cluster.topology()).toHaveLength(3), { timeout: 120_000, interval: 20 });
      resizes += 2;
      expectNoneKilled(cluster);
    } while (performance.now() < untilMs);
    for (const instance of [1, 2, 3]) await load.progress(instance, 20);
    await load.end();
    for (const { type } of cluster.events()) counts[type] = (counts[type] ?? 0) + 1;
    const gaps = [1, 2, 3].map((instance) => load.takeGapMs(instance));
    await cluster.close();
    expectNoneKilled(cluster);
    load.expectSound(await readLeft(cluster.dir, [1, 2, 3, 4]));
    const consumed = [...load.consumed.values()].flat().length;
    console.info(
      `beside ${busyProcesses} busy processes: ${resizes} resizes, 0 kills, 0 of ${load.enqueued.size} messages lost, ${consumed} consumed, longest pauses of the instances ${gaps.join(', ')} ms, the last 200 events ${JSON.stringify(counts)}`,
    );
  });
});
