/**
 * Schedules of faults against the supervisor of a cluster, with simulated processes and time. Within a bound after the last fault every
 * instance is served without an operator, or the supervisor has given up and reports why. `supervised-kills.test.ts` runs some
 * schedules with real processes.
 */
import { describe, expect, it } from 'vitest';
import { QueueError } from '../../src/api/errors.ts';
import { limits } from '../../src/api/limits.ts';
import { VirtualCluster, type VirtualProcess } from './virtual-cluster.ts';

const seeds = (count: number, first: number) => Array.from({ length: count }, (_, index) => first + index);

/** Bound from the last kill until all instances are served: a start, a takeover, and the longest pause after short runs. */
const backAfterKillsMs = 3_000;
/** The same bound if processes were suspended, which is noticed a lease later. */
const backAfterSuspensionMs =
  backAfterKillsMs + limits.leaseMs + limits.processHungMsMax + 2 * limits.supervisorCheckMs;

async function start(seed: number): Promise<VirtualCluster> {
  const cluster = new VirtualCluster({ seed, instances: 1 + (seed % 4) });
  await cluster.start();
  expect(cluster.isInService).toBe(true);
  return cluster;
}

/** Draws any number of the living processes, in any order. */
function draw({ chance, living }: VirtualCluster): VirtualProcess[] {
  const left = [...living];
  const drawn: VirtualProcess[] = [];
  for (let count = chance.between(1, left.length); count > 0; count -= 1) {
    drawn.push(...left.splice(chance.below(left.length), 1));
  }
  return drawn;
}

async function killSome(cluster: VirtualCluster): Promise<void> {
  for (const process of draw(cluster)) {
    process.kill('SIGKILL');
    if (cluster.chance.percent(50)) await cluster.run(cluster.chance.below(60));
  }
}

describe('a supervised cluster in simulated time', () => {
  it.each(seeds(100, 1))(
    'is in service again after kills from outside, even during a takeover: seed %i',
    async (seed) => {
      const cluster = await start(seed);
      for (let round = 0; round < 5; round += 1) {
        await killSome(cluster);
        if (cluster.chance.percent(50)) {
          await cluster.run(cluster.chance.below(500)); // Other processes take over, and new ones start.
          if (cluster.living.length > 0) await killSome(cluster);
        }
        await cluster.run(10); // Signals take a moment to arrive.
        expect(await cluster.runUntil(() => cluster.isInService, backAfterKillsMs)).toBe(true);
      }
      expect(cluster.givenUp).toBeUndefined();
      await cluster.runUntil(() => [...cluster.supervisor.all].every(({ state }) => state === 'running'));
      expect(cluster.living).toHaveLength(cluster.instances.length);
    },
  );

  it.each(seeds(30, 101))('is in service again after suspensions from outside: seed %i', async (seed) => {
    const cluster = await start(seed);
    await cluster.run(1_000);
    for (let round = 0; round < 3; round += 1) {
      for (const process of draw(cluster)) process.kill(cluster.chance.percent(70) ? 'SIGSTOP' : 'SIGKILL');
      await cluster.run(10);
      expect(await cluster.runUntil(() => cluster.isInService, backAfterSuspensionMs)).toBe(true);
      await cluster.run(limits.restartHealthyMs);
    }
    expect(cluster.givenUp).toBeUndefined();
  });

  it.each(seeds(40, 201))(
    'is in service again once instances can be opened, or has given up: seed %i',
    async (seed) => {
      const cluster = await start(seed);
      const broken = cluster.chance.pick(cluster.instances);
      cluster.failureOf = (instance) =>
        instance === broken ? new QueueError('STORAGE_FULL', { message: 'no room' }) : undefined;
      for (const process of [...cluster.living]) process.kill('SIGKILL');
      await cluster.run(cluster.chance.between(500, 20_000));
      cluster.failureOf = () => undefined;
      const boundMs = limits.restartFailedPauseMsMax + backAfterKillsMs;
      const isBack = await cluster.runUntil(() => cluster.isInService, boundMs);
      if (cluster.givenUp === undefined) return expect(isBack).toBe(true);
      expect(cluster.givenUp).toMatchObject({
        code: 'PROCESS_RESTARTS_EXHAUSTED',
        details: { instance: broken, cause: 'STORAGE_FULL', attempts: limits.restartFailedStartsMax },
      });
    },
  );

  it.each(seeds(20, 301))(
    'does not restart stopped or killed processes while others run: seed %i',
    async (seed) => {
      const cluster = new VirtualCluster({ seed, instances: 3 });
      await cluster.start();
      const [stopped, killed, other] = [1, 2, 3].map((instance) => cluster.supervisor.find(instance)!);
      await Promise.all([stopped!.stop(), cluster.run(200)]);
      killed!.kill();
      await cluster.run(5_000);
      expect([stopped!.state, killed!.state, other!.state]).toEqual(['stopped', 'killed', 'running']);
      expect(cluster.isInService).toBe(true);
      cluster.find(other!.pid!)!.end(null, 'SIGKILL');
      expect(await cluster.runUntil(() => cluster.isInService, backAfterKillsMs)).toBe(true);
      expect([stopped!.state, killed!.state]).toEqual(['stopped', 'killed']);
      other!.kill(); // No process is left now.
      await cluster.run(10);
      expect(await cluster.runUntil(() => cluster.isInService, backAfterKillsMs)).toBe(true);
      await cluster.runUntil(() => killed!.state === 'running' && other!.state === 'running');
      expect(stopped!.state).toBe('stopped');
      await Promise.all([cluster.launch(1), cluster.run(2_000)]);
      expect(stopped!.state).toBe('running');
    },
  );

  it('gives up on an instance that no process can open, and reports why', async () => {
    const cluster = await start(3);
    await cluster.run(limits.restartHealthyMs);
    cluster.failureOf = (instance) =>
      instance === 2 ? new QueueError('STORAGE_CORRUPT', { message: 'damaged' }) : undefined;
    cluster.find(cluster.supervisor.find(2)!.pid!)!.end(null, 'SIGKILL');
    expect(await cluster.runUntil(() => cluster.givenUp !== undefined)).toBe(true);
    expect(cluster.givenUp).toMatchObject({ details: { instance: 2, cause: 'STORAGE_CORRUPT' } });
    expect(cluster.supervisor.find(2)!.restart).toMatchObject({ inMs: null, message: 'damaged' });
    const restartEvents = cluster.events.filter(({ type }) => type === 'process:restarting');
    expect(restartEvents.map(({ inMs }) => inMs).slice(0, 5)).toEqual([0, 100, 200, 400, 800]);
    expect(cluster.events.at(-1)).toMatchObject({ type: 'process:given-up', code: 'STORAGE_CORRUPT' });
  });

  it('does not give up while another process hosts the instance', async () => {
    const cluster = await start(2);
    await cluster.run(3_000);
    const process = () => cluster.supervisor.find(2)!;
    for (let kills = 0; kills < 2 * limits.restartFailedStartsMax; kills += 1) {
      await cluster.runUntil(() => process().state === 'starting' || process().state === 'running');
      cluster.find(process().pid!)!.end(1, null);
      await cluster.runUntil(() => cluster.isServed(2));
    }
    expect(cluster.givenUp).toBeUndefined();
    expect(process().restart).toMatchObject({ inMs: limits.restartFailedPauseMsMax });
    expect(await cluster.runUntil(() => process().state === 'running')).toBe(true);
    expect(process().restart).toBeNull();
  });

  it('starts no process after its end, even if a restart was due', async () => {
    const cluster = await start(3);
    for (const process of [...cluster.living]) process.kill('SIGKILL');
    await cluster.run(10);
    await Promise.all([cluster.supervisor.end(), cluster.run(1_000)]);
    await cluster.run(20_000);
    expect(cluster.living).toEqual([]);
  });

  it('replaces a process that was suspended before it had claimed its instance', async () => {
    const cluster = await start(2);
    const { supervisor } = cluster;
    cluster.find(supervisor.find(2)!.pid!)!.end(null, 'SIGKILL');
    await cluster.runUntil(() => supervisor.find(2)!.state === 'starting');
    cluster.find(supervisor.find(2)!.pid!)!.kill('SIGSTOP');
    expect(await cluster.runUntil(() => supervisor.find(2)!.state === 'running', backAfterSuspensionMs)).toBe(
      true,
    );
    expect(cluster.events).toContainEqual(
      expect.objectContaining({ type: 'process:hung', instance: 2, code: 'LEASE_LAPSED' }),
    );
  });

  it('reports a process whose event loop makes no turn, and kills it only after 30 s of that', async () => {
    const cluster = await start(2);
    const process = cluster.find(cluster.supervisor.find(2)!.pid!)!;
    const slowEvents = () =>
      cluster.events.filter(({ instance, type }) => instance === 2 && /slow|resp/.test(type));
    process.turnlessSinceMs = cluster.nowMs;
    await cluster.run(limits.turnlessMsMax - 2_000);
    process.turnlessSinceMs = undefined;
    await cluster.run(1_000);
    expect(slowEvents()).toMatchObject([
      { type: 'process:slow', code: 'PROCESS_SLOW' },
      { type: 'process:responsive' },
    ]);
    expect(slowEvents()[1]!.tookMs).toBeGreaterThan(limits.turnlessMsMax - 4_000);
    expect(process.isAlive).toBe(true);
    process.turnlessSinceMs = cluster.nowMs;
    await cluster.run(limits.turnlessMsMax + 2_000);
    expect(process.isAlive).toBe(false);
    expect(cluster.events).toContainEqual(
      expect.objectContaining({ type: 'process:hung', instance: 2, code: 'LEASE_LAPSED' }),
    );
  });

  it('does not take a process for hung that waits for its instance to be returned', async () => {
    const cluster = await start(2);
    const pid = cluster.supervisor.find(2)!.pid!;
    cluster.find(pid)!.end(null, 'SIGKILL');
    await cluster.runUntil(() => cluster.hosts.get(2)?.pid === cluster.supervisor.find(1)!.pid);
    cluster.keepsRecalled = true;
    await cluster.run(2 * limits.turnlessMsMax);
    expect(cluster.supervisor.find(2)!.state).toBe('starting');
    cluster.keepsRecalled = false;
    await cluster.runUntil(() => cluster.supervisor.find(2)!.state === 'running', 3_000);
    expect(cluster.events.filter(({ type }) => type === 'process:hung')).toEqual([]);
  });

  it('restarts no process if automatic restarts are off', async () => {
    const cluster = new VirtualCluster({ seed: 1, instances: 2, restarts: false });
    await cluster.start();
    for (const process of [...cluster.living]) process.kill('SIGKILL');
    await cluster.run(20_000);
    expect(cluster.living).toEqual([]);
    expect(cluster.supervisor.find(1)!.state).toBe('stopped');
  });
});
