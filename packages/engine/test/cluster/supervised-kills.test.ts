/**
 * Processes of a cluster are killed and suspended from outside, any number at a time and in any order, even while others take over or
 * start. Each instance is served again without an operator, and nothing is lost or duplicated. `supervised-schedules.test.ts` runs more
 * such schedules in simulated time.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFailed, onTestFinished, vi } from 'vitest';
import { type Cluster, type ClusterEvent, connect, startCluster } from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { drawnSeed, isTorture, random } from '../random.ts';
import { readLeft } from './ledger.ts';
import { RemoteLoad } from './remote-load.ts';

const instances = [1, 2, 3];
const schedules = isTorture ? 16 : 2;

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Another process of the cluster has already killed it.
  }
}

const pidsOf = (cluster: Cluster) => cluster.topology().flatMap(({ process }) => process?.pid ?? []);

/** Signals some or all of the processes in any order, with short pauses, so that later ones may be taking over already. */
async function runSchedule(cluster: Cluster, next: () => number): Promise<string> {
  const done: string[] = [];
  for (let waves = 1 + Math.floor(next() * 2); waves > 0; waves -= 1) {
    const pids = pidsOf(cluster).sort(() => next() - 0.5);
    const count = next() < 0.5 ? pids.length : 1 + Math.floor(next() * pids.length);
    for (const pid of pids.slice(0, count)) {
      const signal = next() < 0.85 ? 'SIGKILL' : 'SIGSTOP';
      signalProcess(pid, signal);
      done.push(signal);
      if (next() < 0.3) await pause(next() * 60);
    }
    if (waves > 1) await pause(next() * 500);
  }
  return done.join(' ');
}

it(`a cluster is in service again after each of ${schedules} schedules of kills from outside, and loses nothing`, {
  timeout: 300_000,
}, async () => {
  console.info(`supervised kills: seed ${drawnSeed}`);
  const next = random(drawnSeed);
  const dir = makeFolder();
  const unrecoverable: unknown[] = [];
  const cluster = await startCluster({
    dir,
    instances: instances.length,
    partitionMessagesMax: 64,
    onUnrecoverable: (error) => unrecoverable.push(error),
  });
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
  const remote = await connect({ dir });
  await remote.createQueue({ name: 'q', forwarding: false, attemptsMax: null });
  await remote.close();
  const load = new RemoteLoad(dir);
  for (const instance of instances) await load.connect(instance);
  await Promise.all(instances.map((instance) => load.progress(instance)));

  for (let schedule = 0; schedule < schedules; schedule += 1) {
    const what = await runSchedule(cluster, next);
    const fromMs = performance.now();
    await Promise.all(instances.map((instance) => load.progress(instance, 7)));
    console.info(`${what}: all served after ${Math.round(performance.now() - fromMs)} ms`);
    await vi.waitFor(() => expect(cluster.topology().map(({ state }) => state)).toEqual(['up', 'up', 'up']), {
      timeout: 30_000,
      interval: 10,
    });
  }
  await load.end();
  await cluster.close();
  load.expectSound(await readLeft(dir, instances));
  expect(unrecoverable).toEqual([]);
  const restarts = cluster.events().filter(({ type }) => type === 'process:restarting');
  expect(restarts.length).toBeGreaterThanOrEqual(schedules);
  expect(restarts.every(isExplained)).toBe(true);
});

function isExplained({ code, message, inMs, attempts }: ClusterEvent): boolean {
  return code !== undefined && message !== undefined && inMs !== undefined && attempts !== undefined;
}

it('a stopped process stays down, and a killed one does while another process can host its instance', {
  timeout: 60_000,
}, async () => {
  const cluster = await startCluster({ dir: makeFolder(), instances: 2 });
  onTestFinished(() => cluster.close());
  const stateOf = (instance: number) => cluster.topology()[instance - 1]!;
  const until = (instance: number, expected: object) =>
    vi.waitFor(() => expect(stateOf(instance)).toMatchObject(expected), { timeout: 20_000, interval: 10 });

  cluster.kill(2);
  await until(2, { state: 'failed-over', process: null, restart: null });
  signalProcess(stateOf(1).process!.pid, 'SIGKILL'); // This kill was not requested of the cluster.
  await until(1, { state: 'up', process: { state: 'running' }, restart: null });
  await until(2, { state: 'failed-over', process: null });
  cluster.kill(1); // No process is left, so both are restarted.
  await until(1, { state: 'up' });
  await until(2, { state: 'up' });

  await cluster.stop(2);
  cluster.kill(1);
  await until(1, { state: 'up' });
  await until(2, { state: 'failed-over', process: null });
  await cluster.stop(1);
  expect(cluster.topology()).toMatchObject([
    { state: 'down', process: null },
    { state: 'down', process: null },
  ]);
  const ended = cluster.events().findLastIndex(({ type }) => type === 'process:ended');
  expect(cluster.events().slice(ended)).toHaveLength(1);
});

it('the supervisor kills a hanging process when no other process is left to do so', {
  timeout: 60_000,
}, async () => {
  const cluster = await startCluster({ dir: makeFolder(), instances: 2 });
  onTestFinished(() => cluster.close());
  const pids = pidsOf(cluster);
  for (const pid of pids) signalProcess(pid, 'SIGSTOP');
  await vi.waitFor(
    () => {
      expect(cluster.topology()).toMatchObject([{ state: 'up' }, { state: 'up' }]);
      expect(pidsOf(cluster).some((pid) => pids.includes(pid))).toBe(false);
    },
    { timeout: 30_000, interval: 10 },
  );
  expect(cluster.events().filter(({ type }) => type === 'process:hung')).toMatchObject([
    { code: 'LEASE_LAPSED' },
    { code: 'LEASE_LAPSED' },
  ]);
});
