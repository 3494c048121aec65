/** When processes of a cluster die, stop or hang under load, others host their instances, and nothing is lost or duplicated. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { openInstance } from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { LeaseFile } from '../../src/storage/catalog/lease-file.ts';
import { Membership } from '../../src/storage/catalog/membership.ts';
import { makeFolder } from '../folder.ts';
import { drawnSeed, isTorture, random } from '../random.ts';
import { editCatalog } from '../support/edit-catalog.ts';
import { expectSound, readLedger, readLeft } from './ledger.ts';
import { MemberProcess } from './member-process.ts';

/** How many processes are killed or stopped one after the other. */
const lostCount = isTorture ? 6 : 3;

interface TestCluster {
  dir: string;
  log: string;
  instances: number[];
  members: MemberProcess[];
}

/** Starts processes under load, each on its own instance. The first one may have a planted fault. */
async function startMembers(
  count: number,
  fault: { hangFlag?: string } = {},
  options: { turnlessMsMax?: number } = {},
): Promise<TestCluster> {
  const folder = makeFolder();
  const [dir, log] = [join(folder, 'data'), join(folder, 'acknowledged.log')];
  const first = await openInstance({ dir });
  await first.createQueue({ name: 'q' });
  await first.close();
  const membership = new Membership(dir, { busyMs: 1_000, processes: nodePorts.processes });
  const instances = Array.from({ length: count }, (_, index) => index + 1);
  for (const id of instances) membership.addMember(id);
  membership.close();
  const members = instances.map(
    (instance) =>
      new MemberProcess(
        { dir, log, instance, writerSilentMsMax: 600, ...options },
        instance === 1 ? fault : {},
      ),
  );
  await Promise.all(members.map((member, index) => member.untilInService(index + 1)));
  await Promise.all(members.map((member) => member.startFailover()));
  return { dir, log, instances, members };
}

/** Resolves with the process that took the instance over. */
async function survivor(members: readonly MemberProcess[], instance: number): Promise<MemberProcess> {
  return Promise.race(
    members.map(async (member) => {
      await member.event('instance:taken-over', instance);
      return member;
    }),
  );
}

/** Shuts all processes down without takeovers, and compares what they recorded with the content of the files. */
async function endAndCheck({ dir, log, instances, members }: TestCluster): Promise<void> {
  const running = members.filter((member) => member.ended === undefined);
  for (const member of running) member.child.send('stop-failover');
  await Promise.all(running.map((member) => member.leave()));
  const ledger = readLedger(log);
  expectSound(ledger, await readLeft(dir, instances));
  expect(ledger.consumed.length).toBeGreaterThan(0);
}

function report(what: string, fromMs: number, atMs: number): void {
  console.info(`${what}: in service after ${atMs - fromMs} ms`);
}

describe('a cluster under load', () => {
  it('serves the instance of a killed process besides its own, and returns it later', {
    timeout: 60_000,
  }, async () => {
    const cluster = await startMembers(3);
    const { dir, log, members } = cluster;
    const [first, ...others] = members as [MemberProcess, ...MemberProcess[]];
    const killedAt = Date.now();
    first.child.kill('SIGKILL');
    const host = await survivor(others, 1);
    report('kill -9', killedAt, await host.untilInService(1));
    expect(host.events('instance:taken-over')).toMatchObject([
      { instance: 1, fromPid: first.pid, killed: false, message: 'its process had ended' },
    ]);
    expect(others.flatMap((member) => member.events('instance:taken-over'))).toHaveLength(1);

    const startedAt = Date.now();
    const returned = new MemberProcess({ dir, log, instance: 1 });
    members.push(returned);
    report('return of the process', startedAt, await returned.untilInService(1));
    const back = await host.event('instance:returned', 1);
    expect(back).toMatchObject({ toPid: returned.pid });
    const [taken] = returned.events('lease:acquired');
    report('give-back itself', back.atMs - back.tookMs!, taken!.atMs);
    expect(taken!.epoch).toBeGreaterThan(host.events('lease:acquired').at(-1)!.epoch!);
    await endAndCheck(cluster);
  });

  it('kills a stopped process before it serves its instance', { timeout: 60_000 }, async () => {
    const cluster = await startMembers(2);
    const [first, other] = cluster.members as [MemberProcess, MemberProcess];
    const stoppedAt = Date.now();
    first.child.kill('SIGSTOP');
    await other.event('instance:taken-over', 1);
    report('SIGSTOP', stoppedAt, await other.untilInService(1));
    expect(other.events('instance:taken-over')).toMatchObject([
      { instance: 1, fromPid: first.pid, killed: true, message: 'its process had been stopped by a signal' },
    ]);
    expect(await first.untilEnded()).toEqual({ exitCode: null, signal: 'SIGKILL' });
    await endAndCheck(cluster);
  });

  it('kills a process whose writer thread hangs in a commit', { timeout: 60_000 }, async () => {
    const hangFlag = join(makeFolder(), 'hang');
    const cluster = await startMembers(2, { hangFlag });
    const [first, other] = cluster.members as [MemberProcess, MemberProcess];
    const hungAt = Date.now();
    writeFileSync(hangFlag, '');
    await other.event('instance:taken-over', 1);
    report('hung writer', hungAt, await other.untilInService(1));
    expect(await first.untilEnded()).toEqual({ exitCode: null, signal: 'SIGKILL' });
    await endAndCheck(cluster);
  });

  it('kills a process whose event loop makes no turn for too long, although its heartbeat goes on', {
    timeout: 60_000,
  }, async () => {
    const cluster = await startMembers(2, {}, { turnlessMsMax: 3_000 });
    const [first, other] = cluster.members as [MemberProcess, MemberProcess];
    const blockedAt = Date.now();
    first.child.send('block');
    const taken = await other.event('instance:taken-over', 1);
    report('blocked event loop', blockedAt, await other.untilInService(1));
    expect(taken).toMatchObject({
      fromPid: first.pid,
      killed: true,
      message: 'the event loop of its process made no turn any more',
    });
    expect(taken.atMs - blockedAt).toBeGreaterThan(limits.leaseMs); // which would be slow only
    expect(await first.untilEnded()).toEqual({ exitCode: null, signal: 'SIGKILL' });
    await endAndCheck(cluster);
  });

  it('takes over an instance at once when its process shuts down cleanly', { timeout: 60_000 }, async () => {
    const cluster = await startMembers(2);
    const [first, other] = cluster.members as [MemberProcess, MemberProcess];
    const leftAt = Date.now();
    const left = first.leave();
    await other.event('instance:moved', 1);
    report('clean shutdown', leftAt, await other.untilInService(1));
    await left;
    expect(other.events('instance:taken-over')).toEqual([]);
    await endAndCheck(cluster);
  });

  it('has one host for each instance through kills and stops, with survivors racing for each', {
    timeout: 120_000,
  }, async () => {
    const seed = drawnSeed;
    console.info(`failover: seed ${seed}`);
    const next = random(seed);
    const cluster = await startMembers(3);
    const { dir, log, members, instances } = cluster;
    const current = [...members];
    for (let round = 0; round < lostCount; round += 1) {
      const index = Math.floor(next() * current.length);
      const lost = current[index]!;
      const others = current.filter((member) => member !== lost);
      const before = others.map((member) => member.events('instance:taken-over').length);
      lost.child.kill(next() < 0.5 ? 'SIGKILL' : 'SIGSTOP');
      await lost.untilEnded(); // The process that takes over kills a stopped one first.
      const count = () =>
        others.reduce((sum, m, i) => sum + m.events('instance:taken-over').length - before[i]!, 0);
      while (count() === 0) await Promise.race(others.map((member) => member.next()));
      const instance = instances[index]!;
      const returned = new MemberProcess({ dir, log, instance });
      members.push(returned);
      current[index] = returned;
      await returned.startFailover();
      await returned.untilInService(instance);
      expect(count()).toBe(1);
    }
    await endAndCheck(cluster);
  });

  it('serves all instances in the last process that is left', { timeout: 60_000 }, async () => {
    const cluster = await startMembers(3);
    const [first, second, last] = cluster.members as [MemberProcess, MemberProcess, MemberProcess];
    first.child.kill('SIGKILL');
    await survivor([second, last], 1);
    second.child.kill('SIGKILL');
    await last.untilInService(1);
    await last.untilInService(2);
    await endAndCheck(cluster);
  });
});

describe('a claim of an earlier boot', () => {
  it('is taken over at once, and a process that reuses its pid is left alone', {
    timeout: 60_000,
  }, async () => {
    const folder = makeFolder();
    const [dir, log] = [join(folder, 'data'), join(folder, 'acknowledged.log')];
    const earlier = await openInstance({ dir });
    await earlier.createQueue({ name: 'q' });
    await earlier.close();
    const membership = new Membership(dir, { busyMs: 1_000, processes: nodePorts.processes });
    membership.addMember(1);
    membership.addMember(2);
    const claim = membership.claim(1, 'owner');
    membership.close();
    // The claim has the pid of this test and a start time of another boot. Its last heartbeat is valid for days.
    editCatalog(dir, "UPDATE host SET pid_started = 'earlier-boot/' || pid_started");
    const leases = new LeaseFile(dir);
    leases.writeHosting({ instance: 1, claim, epoch: 1, unhealthySinceMs: 0, failed: false });
    leases.writeHeartbeat(1, { pid: process.pid, expiresAtMs: 1e12, turnlessMs: 0 });
    leases.close();

    const member = new MemberProcess({ dir, log, instance: 2 });
    await member.startFailover();
    const taken = await member.event('instance:taken-over', 1);
    expect(taken).toMatchObject({ fromPid: process.pid, killed: false });
    await member.untilInService(1);
    await endAndCheck({ dir, log, instances: [1, 2], members: [member] });
  });
});

describe('a stopped process that resumes after its instance was taken', () => {
  it('finds itself fenced, and until it has closed its files nobody else opens them', {
    timeout: 60_000,
  }, async () => {
    const cluster = await startMembers(1);
    const [stopped] = cluster.members as [MemberProcess];
    const { dir, log } = cluster;
    await stopped.quiesce(); // If it were stopped inside a commit it would keep the lock on its file.
    stopped.child.kill('SIGSTOP');
    // An operator might do this: no other process is there to end the stopped one, and the instance is needed.
    editCatalog(dir, 'DELETE FROM host');
    await expect(openInstance({ dir })).rejects.toMatchObject({ code: 'INSTANCE_IN_USE' });
    const consumedBefore = readLedger(log).consumed.length;

    stopped.child.send('work');
    stopped.child.kill('SIGCONT');
    await stopped.event('instance:fenced', 1);
    const taken = await openInstance({ dir, partitionMessagesMax: 64 });
    const session = taken.openSession();
    session.enqueue('q', { payload: 'of the next host' });
    await session.commit();
    // A session that was between two calls ends without one that could be refused.
    for (const message of stopped.messages)
      if (message.type === 'refused') expect(message.code).toBe('INSTANCE_FENCED');
    const ledger = readLedger(log);
    expect(ledger.consumed.length).toBe(consumedBefore);
    const { ready, held } = taken.queue('q');
    const left: string[] = [];
    // After a restart a dequeue returns only the messages that have been read into memory by then.
    while (left.length < ready + held) {
      for (const message of await session.dequeue('q', { max: 10_000, waitMs: 10_000 }))
        left.push(message.payload.toString());
    }
    expect(left).toHaveLength(ready + held);
    expectSound(
      ledger,
      left.filter((payload) => payload !== 'of the next host'),
    );
    await taken.close();
  });
});
