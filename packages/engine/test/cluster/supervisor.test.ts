/** A cluster of processes under remote load: killed, stopped, started, added and removed while it works. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type Cluster,
  type ClusterOptions,
  connect,
  type InstanceTopology,
  openInstance,
  startCluster,
} from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { makeFolder } from '../folder.ts';
import { waiting } from '../waiting.ts';
import { readLeft } from './ledger.ts';
import { RemoteLoad } from './remote-load.ts';

const code = (value: string) => expect.objectContaining({ code: value });

async function start(options: Partial<ClusterOptions> = {}): Promise<Cluster> {
  const dir = options.dir ?? makeFolder();
  const cluster = await startCluster({ dir, partitionMessagesMax: 64, ...options });
  onTestFinished(() => cluster.close());
  return cluster;
}

/** A cluster with a queue, and clients at work on all of its instances. */
async function startUnderLoad(instances: number): Promise<{ cluster: Cluster; load: RemoteLoad }> {
  const cluster = await start({ instances });
  const remote = await connect({ dir: cluster.dir });
  await remote.createQueue({ name: 'q', forwarding: false }); // each instance has its own consumer
  await remote.close();
  const load = new RemoteLoad(cluster.dir);
  const numbers = Array.from({ length: instances }, (_, index) => index + 1);
  await Promise.all(numbers.map((instance) => load.connect(instance)));
  await Promise.all(numbers.map((instance) => load.progress(instance)));
  for (const instance of numbers) load.takeGapMs(instance);
  return { cluster, load };
}

async function endAndCheck({ cluster, load }: { cluster: Cluster; load: RemoteLoad }): Promise<void> {
  const instances = [...load.consumed.keys()];
  await load.end();
  await cluster.close();
  load.expectSound(await readLeft(cluster.dir, instances));
}

const find = (cluster: Cluster, instance: number) =>
  cluster.topology().find((each) => each.instance === instance);

const untilState = (cluster: Cluster, instance: number, expected: Partial<InstanceTopology>) =>
  vi.waitFor(() => expect(find(cluster, instance)).toMatchObject(expected), {
    timeout: 20_000,
    interval: 10,
  });

function report(what: string, load: RemoteLoad, instance: number): void {
  console.info(`${what}: no commit on its instance for at most ${load.takeGapMs(instance)} ms`);
}

describe('a cluster', () => {
  it('runs its extension in each process, beside the hosted instances', async () => {
    const extension = { module: new URL('./extension.ts', import.meta.url).href, options: 'hosts' };
    const cluster = await start({ instances: 2, extension });
    const writtenBy = (instance: number) => readFileSync(join(cluster.dir, `extension-${instance}`), 'utf8');
    expect([writtenBy(1), writtenBy(2)]).toEqual(['hosts 1', 'hosts 2']);
    await cluster.close();
    expect(writtenBy(1)).toBe('hosts 1 until it closed 1');
  });

  it('does not start with an extension that cannot be loaded', async () => {
    const extension = { module: new URL('./no-such-extension.ts', import.meta.url).href, options: null };
    await expect(start({ extension })).rejects.toThrow(code('INSTANCE_FAILED'));
  });

  it('has a process for each instance, and reports their figures', async () => {
    const cluster = await start({ instances: 2 });
    const topology = cluster.topology();
    expect(topology).toMatchObject([
      { instance: 1, state: 'up', leaving: false, process: { state: 'running' }, epoch: 1 },
      { instance: 2, state: 'up', leaving: false, process: { state: 'running' }, epoch: 1 },
    ]);
    const pids = topology.map((each) => each.process!.pid);
    expect(new Set([...pids, process.pid]).size).toBe(3);
    expect(topology.map((each) => each.host)).toEqual(
      pids.map((pid, index) => ({ pid, instance: index + 1, unresponsiveMs: null })),
    );
    const stats = await cluster.stats();
    expect(stats).toMatchObject(pids.map((pid, index) => ({ instance: index + 1, pid })));
    for (const each of stats) {
      expect(each.cpuUs).toBeGreaterThan(0);
      expect(each.rssBytes).toBeGreaterThan(0);
      expect(each.hosted).toMatchObject([{ stats: { instance: each.instance } }]);
    }
    expect(cluster.events().map((event) => event.type)).toEqual(
      expect.arrayContaining(['process:started', 'lease:acquired']),
    );
    await cluster.close();
    expect(pids.some(nodePorts.processes.mayBeAlive)).toBe(false);
  });

  it('continues with the instances of its folder, which only one cluster can use', async () => {
    const dir = makeFolder();
    const first = await start({ dir, instances: 2 });
    await expect(startCluster({ dir })).rejects.toMatchObject({
      code: 'INSTANCE_IN_USE',
      details: { pid: process.pid },
    });
    await expect(openInstance({ dir, instance: 2 })).rejects.toThrow(code('INSTANCE_IN_USE'));
    await first.close();
    const second = await start({ dir });
    expect(second.topology()).toMatchObject([
      { instance: 1, state: 'up', epoch: 2 },
      { instance: 2, state: 'up', epoch: 2 },
    ]);
  });

  it('refuses invalid options, and calls that do not fit the state of a process', async () => {
    const dir = makeFolder();
    for (const options of [
      { instances: 0 },
      { instances: 65 },
      { instances: 1.5 },
      { writerSilentMsMax: 1 },
    ]) {
      await expect(startCluster({ dir, ...options })).rejects.toThrow(code('OPTIONS_INVALID'));
    }
    const cluster = await start({ dir, instances: 1 });
    expect(() => cluster.kill(7)).toThrow(code('INSTANCE_NOT_FOUND'));
    await expect(cluster.start(7)).rejects.toThrow(code('INSTANCE_NOT_FOUND'));
    await expect(cluster.start(1)).rejects.toThrow(code('PROCESS_RUNNING'));
    await expect(cluster.remove(1)).rejects.toThrow(code('OPTIONS_INVALID'));
    await cluster.stop(1);
    expect(find(cluster, 1)).toMatchObject({ state: 'down', process: null, host: null });
    await expect(cluster.stop(1)).rejects.toThrow(code('PROCESS_NOT_RUNNING'));
    await cluster.start(1);
    expect(find(cluster, 1)).toMatchObject({ state: 'up' });
  });

  it('reports why an instance cannot be opened, and leaves no process running', async () => {
    const dir = makeFolder();
    const embedded = await openInstance({ dir, instance: 2 });
    const events: string[] = [];
    await expect(
      startCluster({ dir, instances: 2, onEvent: ({ type }) => void events.push(type) }),
    ).rejects.toMatchObject({ code: 'INSTANCE_IN_USE', details: { instance: 2, pid: process.pid } });
    // A process that ended early may have been restarted before the other one was up.
    const count = (type: string) => events.filter((each) => each === type).length;
    expect(count('process:started')).toBeGreaterThanOrEqual(2);
    expect(count('process:ended')).toBe(count('process:started'));
    await embedded.close();
  });

  it('ends with its supervisor, even if that is killed', { timeout: 60_000 }, async () => {
    const dir = makeFolder();
    const parent = fork(new URL('./supervisor-process.ts', import.meta.url), [dir], { execArgv: [] });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [pids] = (await once(parent, 'message')) as [number[]];
    expect(pids.every(nodePorts.processes.mayBeAlive)).toBe(true);
    const ended = once(parent, 'exit');
    parent.kill('SIGKILL');
    await ended;
    // A new cluster can start at once: the processes of the old one end by themselves.
    const next = await start({ dir });
    expect(next.topology()).toMatchObject([{ state: 'up' }, { state: 'up' }]);
    await vi.waitFor(() => expect(pids.some(nodePorts.processes.mayBeAlive)).toBe(false), {
      timeout: 10_000,
    });
  });
});

describe('clients of a cluster', () => {
  it('continue through the kill, stop and restart of every process', { timeout: 120_000 }, async () => {
    const { cluster, load } = await startUnderLoad(3);
    for (const instance of [1, 2, 3]) {
      cluster.kill(instance);
      await untilState(cluster, instance, { state: 'failed-over', process: null });
      await load.progress(instance);
      report('kill -9', load, instance);
      await cluster.start(instance);
      await untilState(cluster, instance, { state: 'up' });
      await load.progress(instance);
      report('give-back', load, instance);
    }
    cluster.pause(2);
    await untilState(cluster, 2, { state: 'failed-over', process: null });
    await load.progress(2);
    report('SIGSTOP', load, 2);
    await cluster.start(2);
    await load.progress(2);
    load.takeGapMs(2);
    await cluster.stop(2);
    await untilState(cluster, 2, { state: 'failed-over' });
    await load.progress(2);
    report('stop', load, 2);
    await endAndCheck({ cluster, load });
  });

  it('continue while instances are added and removed', { timeout: 120_000 }, async () => {
    const { cluster, load } = await startUnderLoad(2);
    expect(await cluster.add()).toBe(3);
    await load.connect(3);
    await load.progress(3);
    // Messages without a consumer must outlive the process.
    load.unread.add(3);
    const remote = await connect({ dir: cluster.dir, instance: 3 });
    onTestFinished(() => remote.close());
    await vi.waitFor(async () => expect((await remote.queue('q')).ready).toBeGreaterThan(20), {
      timeout: 20_000,
    });
    await cluster.remove(3);
    await untilState(cluster, 3, { state: 'failed-over', leaving: true, process: null });
    await vi.waitFor(() => expect(load.leaving.has(3)).toBe(true), { timeout: 20_000 });
    expect((await remote.queue('q')).ready).toBeGreaterThan(20);
    await remote.close();
    load.unread.delete(3);
    await load.progress(3, 1);
    await untilGone(cluster, 3);
    await vi.waitFor(
      () => expect(cluster.events().map((event) => event.type)).toContain('instance:deregistered'),
      waiting,
    );
    await Promise.all([load.progress(1), load.progress(2)]);

    // The epoch of the instance continues from where it was.
    expect(await cluster.add()).toBe(3);
    expect(find(cluster, 3)!.epoch).toBeGreaterThan(2);
    // Nothing has failed: the instance was not taken over while its process started, and moved when that was ended.
    const ofThree = cluster.events().filter(({ instance }) => instance === 3);
    const changes = ofThree.flatMap(({ type }) => (type.startsWith('instance:') ? [type] : []));
    expect(changes).toEqual([
      'instance:added',
      'instance:removed',
      'instance:released',
      'instance:moved',
      'instance:deregistered',
      'instance:added',
    ]);
    await endAndCheck({ cluster, load });
  });

  it('do not keep a process from opening its instance by writing to an unsharded queue without a pause', {
    timeout: 60_000,
  }, async () => {
    const cluster = await start({ instances: 2 });
    const remote = await connect({ dir: cluster.dir });
    onTestFinished(() => remote.close());
    await remote.createQueue({ name: 'u', kind: 'unsharded' });
    const ending = new AbortController();
    const writers = Array.from({ length: 8 }, async () => {
      const session = remote.openSession();
      let written = 0;
      for (; !ending.signal.aborted; written += 1) {
        session.enqueue('u', { payload: 'x' });
        await session.commit();
      }
      return written;
    });
    for (let round = 0; round < 3; round += 1) {
      await cluster.stop(2);
      await cluster.start(2);
    }
    ending.abort();
    const written = (await Promise.all(writers)).reduce((sum, each) => sum + each, 0);
    expect((await remote.queue('u')).ready).toBe(written);
    // No process was taken for dead while it was blocked by waiting for the file.
    expect(cluster.events().filter(({ signal }) => signal === 'SIGKILL')).toEqual([]);
  });

  it('find all messages on their instances after the cluster became smaller', {
    timeout: 60_000,
  }, async () => {
    const { cluster, load } = await startUnderLoad(3);
    await load.end();
    const { dir } = cluster;
    await cluster.resize(2);
    await cluster.close();
    const smaller = await start({ dir, instances: 1 });
    expect(smaller.topology()[0]).toMatchObject({ instance: 1, state: 'up', leaving: false });
    await smaller.resize(3);
    expect(smaller.topology()).toMatchObject([1, 2, 3].map((instance) => ({ instance, leaving: false })));
    await smaller.close();
    load.expectSound(await readLeft(dir, [1, 2, 3]));
  });
});

const untilGone = (cluster: Cluster, instance: number) =>
  vi.waitFor(() => expect(find(cluster, instance)).toBeUndefined(), { timeout: 20_000, interval: 10 });
