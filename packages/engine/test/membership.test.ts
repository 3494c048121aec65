/** Which process hosts which instance: claims in the catalog, and heartbeats in a file beside it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openInstance } from '../src/index.ts';
import { nodePorts } from '../src/node-ports.ts';
import { readProcessStart } from '../src/node-processes.ts';
import { LeaseFile } from '../src/storage/catalog/lease-file.ts';
import { Membership } from '../src/storage/catalog/membership.ts';
import { makeFolder } from './folder.ts';
import { editCatalog } from './support/edit-catalog.ts';

function openMembership(dir: string): Membership {
  const membership = new Membership(dir, { busyMs: 1_000, processes: nodePorts.processes });
  onTestFinished(() => membership.close());
  return membership;
}

/** A process that does nothing until it is ended. */
async function startIdle(): Promise<ChildProcess> {
  const path = join(makeFolder(), 'idle.mjs');
  writeFileSync(path, "setInterval(() => undefined, 60_000);\nprocess.send('up');\n");
  const child = fork(path, { execArgv: [] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

/** Rewrites the claim on instance 1, as if another process had made it. */
function pretendHost(dir: string, pid: number, started: string): void {
  editCatalog(dir, 'UPDATE host SET pid = ?, pid_started = ? WHERE instance = 1', pid, started);
}

const inUse = (pid: number | undefined) =>
  expect.objectContaining({ code: 'INSTANCE_IN_USE', details: { instance: 1, pid } });

describe('a claim', () => {
  it('is respected exactly as long as its process lives', async () => {
    const dir = makeFolder();
    const membership = openMembership(dir);
    const first = membership.claim(1, 'owner');
    const child = await startIdle();
    pretendHost(dir, child.pid!, readProcessStart(child.pid!)!);
    expect(() => membership.claim(1, 'failover')).toThrow(inUse(child.pid));
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(membership.claim(1, 'failover')).toBeGreaterThan(first);
  });

  it('does not pass to a process that reuses the pid of its dead one', async () => {
    const dir = makeFolder();
    const membership = openMembership(dir);
    const child = await startIdle();
    membership.claim(1, 'owner');
    const [boot] = nodePorts.processes.self.started.split('/');
    pretendHost(dir, child.pid!, `${boot}/1`);
    expect(membership.claim(1, 'owner')).toBeGreaterThan(0);
  });

  it('of an earlier boot is void, even if its pid and start time are those of a living process', async () => {
    const dir = makeFolder();
    await (await openInstance({ dir })).close();
    const membership = openMembership(dir);
    membership.claim(1, 'owner');
    const [, ticks] = nodePorts.processes.self.started.split('/');
    pretendHost(dir, process.pid, `00000000-0000-0000-0000-000000000000/${ticks}`);
    await (await openInstance({ dir })).close();
  });

  it('passes to the process that recalled it without being free in between', () => {
    const dir = makeFolder();
    const membership = openMembership(dir);
    const failover = membership.claim(1, 'failover');
    membership.requestReturn(failover);
    expect(membership.host(1)?.recalledBy).toEqual(nodePorts.processes.self);
    membership.returnToOwner(failover);
    const host = membership.host(1)!;
    expect(host).toMatchObject({ ...nodePorts.processes.self, role: 'owner', recalledBy: null });
    expect(host.claim).toBeGreaterThan(failover);
    expect(membership.holdsClaim(1, failover)).toBe(false);
    membership.releaseClaim(failover); // Releasing an older claim changes nothing.
    expect(membership.holdsClaim(1, host.claim)).toBe(true);
  });
});

describe('members', () => {
  it('are removed only once they were marked as leaving', () => {
    const membership = openMembership(makeFolder());
    membership.addMember(1);
    membership.addMember(2);
    membership.deleteLeavingMember(2);
    membership.markMemberLeaving(2);
    expect(membership.members()).toEqual([
      { instance: 1, leaving: false },
      { instance: 2, leaving: true },
    ]);
    membership.addMember(2);
    expect(membership.members()[1]).toEqual({ instance: 2, leaving: false });
    membership.markMemberLeaving(2);
    membership.deleteLeavingMember(2);
    expect(membership.members()).toEqual([{ instance: 1, leaving: false }]);
  });
});

describe('the file of leases', () => {
  const hosting = { instance: 1, claim: 3, epoch: 9, unhealthySinceMs: 0.5, failed: true };
  const heartbeat = { pid: process.pid, expiresAtMs: 1_234.5, turnlessMs: 250 };

  it('is read by other processes as written, each half of a slot by itself', () => {
    const dir = makeFolder();
    const [one, other] = [new LeaseFile(dir), new LeaseFile(dir)];
    expect(other.read()).toEqual({ hostings: [], heartbeats: [] });
    one.writeHosting(hosting);
    expect(other.read()).toEqual({ hostings: [hosting], heartbeats: [] });
    other.writeHeartbeat(1, heartbeat);
    other.writeHeartbeat(64, { ...heartbeat, pid: 4 });
    one.writeHosting({ ...hosting, instance: 64, claim: 4 });
    expect(one.read()).toEqual({
      hostings: [hosting, { ...hosting, instance: 64, claim: 4 }],
      heartbeats: [heartbeat, { ...heartbeat, pid: 4 }],
    });
    one.close();
    other.close();
  });

  it('loses only the half that is torn or damaged', () => {
    const dir = makeFolder();
    const file = new LeaseFile(dir);
    file.writeHosting(hosting);
    file.writeHeartbeat(1, heartbeat);
    writeFileSync(join(dir, 'leases'), Buffer.from('torn'), { flag: 'r+' });
    expect(file.read()).toEqual({ hostings: [], heartbeats: [heartbeat] });
    file.close();
  });
});
