/**
 * Slow is not dead: processes whose event loop stands still, and processes beside many busy ones on too few cores, are reported and not
 * killed. `npm run torture` has the long form of the second: three instances for five minutes beside 20 busy processes.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFailed, onTestFinished, vi } from 'vitest';
import {
  type Cluster,
  type ClusterEvent,
  type ClusterOptions,
  connect,
  connectCluster,
  startCluster,
} from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { isTorture } from '../random.ts';
import { waiting } from '../waiting.ts';
import { readLeft } from './ledger.ts';
import { RemoteLoad } from './remote-load.ts';

const module = new URL('./blocking.ts', import.meta.url).href;
const busyProcesses = isTorture ? 20 : 4;
const loadedMs = isTorture ? 300_000 : 5_000;

/** `events`: all of them, while the cluster itself keeps only the newest. */
async function start(
  options: Partial<ClusterOptions>,
): Promise<{ cluster: Cluster; events: ClusterEvent[] }> {
  const events: ClusterEvent[] = [];
  onTestFailed(() => console.info(events.map((event) => JSON.stringify(event)).join('\n')));
  const cluster = await startCluster({
    dir: makeFolder(),
    partitionMessagesMax: 64,
    ...options,
    onEvent: (event) => void events.push(event),
  });
  onTestFinished(() => cluster.close());
  return { cluster, events };
}

/** What nothing but a failure brings about. */
const failures = ['instance:taken-over', 'process:hung', 'process:restarting', 'takeover:blocked'];

function failuresIn(events: readonly ClusterEvent[]): ClusterEvent[] {
  return events.filter(({ type, signal }) => failures.includes(type) || signal !== undefined);
}

describe('a process whose event loop makes no turn', () => {
  it('is reported and avoided while it is slow, and is not killed', { timeout: 60_000 }, async () => {
    const services = [{ name: 'blocking', preferred: 2, module: new URL(module).pathname }];
    const { cluster, events } = await start({ instances: 2, services });
    const client = connectCluster({ dir: cluster.dir });
    onTestFinished(() => client.close());
    await client.createQueue({ name: 'q' });
    const pids = () => cluster.topology().map(({ process }) => process!.pid);
    const before = pids();
    const ofTwo = (type: string) => events.filter((event) => event.instance === 2 && event.type === type);
    const unresponsiveMs = () => cluster.topology().map(({ host }) => host?.unresponsiveMs ?? null);
    await vi.waitFor(() => expect(unresponsiveMs()).toEqual([null, null]), waiting);

    const released = join(cluster.dir, 'released');
    const blocked = client.callService('blocking', 'block', released);
    await vi.waitFor(() => expect(unresponsiveMs()[1]).toBeGreaterThan(2_000), waiting);
    expect(cluster.topology()[1]).toMatchObject({ state: 'up', process: { state: 'running' } });
    const session = client.openSession(); // New sessions go to the other instance.
    session.enqueue('q', { payload: 'm' });
    const { ids } = await session.commit();
    expect(ids).toHaveLength(1);
    writeFileSync(released, '');
    expect(await blocked).toBe(before[1]);
    await vi.waitFor(() => {
      expect(unresponsiveMs()).toEqual([null, null]);
      expect(ofTwo('process:responsive')).not.toEqual([]);
    }, waiting);
    expect(ofTwo('process:slow')[0]).toMatchObject({ pid: before[1], code: 'PROCESS_SLOW' });
    expect(pids()).toEqual(before);
    expect(failuresIn(events)).toEqual([]);
  });

  it('is not killed while it starts', { timeout: 60_000 }, async () => {
    const { cluster, events } = await start({ instances: 1, extension: { module, options: 11_000 } });
    expect(cluster.topology()).toMatchObject([{ state: 'up', epoch: 1 }]);
    expect(failuresIn(events)).toEqual([]);
  });
});

const patient = { timeout: 120_000, interval: 20 } as const;

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
    const { cluster, events } = await start({ instances: 3 });
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
      load.unread.delete(4);
      await load.connect(4, resizes === 0 ? {} : { dequeuers: 0 });
      await load.progress(4, 20);
      // What is left there keeps it from being deleted: with it the answer to a last commit could be lost.
      load.unread.add(4);
      const remote = await connect({ dir: cluster.dir, instance: 4, connectMs: 20_000 });
      await vi.waitFor(async () => expect((await remote.queue('q')).ready).toBeGreaterThan(20), patient);
      await remote.close();
      await cluster.remove(4);
      await vi.waitFor(() => expect(cluster.topology()[3]).toMatchObject({ state: 'failed-over' }), patient);
      resizes += 2;
      expect(failuresIn(events)).toEqual([]);
    } while (performance.now() < untilMs);
    for (const instance of [1, 2, 3]) await load.progress(instance, 20);
    await load.end();
    const gaps = [1, 2, 3].map((instance) => load.takeGapMs(instance));
    await cluster.close();
    expect(failuresIn(events)).toEqual([]);
    load.expectSound(await readLeft(cluster.dir, [1, 2, 3, 4]));
    const count = (wanted: string) => events.filter(({ type }) => type === wanted).length;
    const killed = events.filter(({ signal }) => signal !== undefined).length;
    const consumed = [...load.consumed.values()].flat().length;
    console.info(
      `beside ${busyProcesses} busy processes: ${resizes} resizes, ${killed} kills, ${count('instance:taken-over')} takeovers, ${count('process:slow')} times slow; 0 of ${load.enqueued.size} messages lost, ${consumed} consumed; longest pauses of the instances ${gaps.join(', ')} ms`,
    );
  });
});
