/** The lease under which a process hosts an instance, and its effect on the instance's sessions. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { QueueError } from '../src/api/errors.ts';
import { limits } from '../src/api/limits.ts';
import { HostedInstance } from '../src/cluster/hosted-instance.ts';
import { Lease } from '../src/cluster/lease.ts';
import { nodeClusterPorts } from '../src/cluster/node-cluster-ports.ts';
import { nodePorts } from '../src/node-ports.ts';
import { assembleInstance } from '../src/runtime/assemble-instance.ts';
import type { LocalInstance } from '../src/runtime/local-instance.ts';
import { LeaseFile } from '../src/storage/catalog/lease-file.ts';
import { Membership } from '../src/storage/catalog/membership.ts';
import { RedoWriter } from '../src/storage/threads/redo-writer.ts';
import { UnshardedEngine } from '../src/unsharded/unsharded-engine.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';
import { editCatalog } from './support/edit-catalog.ts';

const code = (value: string) => expect.objectContaining({ code: value });

// Turns off the renewal every 250 ms: the tests renew leases themselves.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

interface Hosted {
  dir: string;
  instance: LocalInstance;
  lease: Lease;
  membership: Membership;
  file: LeaseFile;
  setClock(ms: number): void;
  setUnhealthy(reason: string | undefined): void;
  /** Why the lease was no longer renewed. */
  unhealthy: string[];
}

/** An instance with a queue under a lease whose clock the test moves. */
async function host(): Promise<Hosted> {
  const dir = makeFolder();
  let nowMs = 1_000_000;
  let unhealthyReason: string | undefined;
  const unhealthy: string[] = [];
  const membership = new Membership(dir, { busyMs: 1_000, processes: nodePorts.processes });
  const file = new LeaseFile(dir);
  const lease = new Lease({
    instance: 1,
    claim: membership.claim(1, 'owner'),
    membership,
    leaseFile: file,
    ports: { ...nodeClusterPorts, machineClock: { nowMs: () => nowMs } },
    unhealthyReason: () =>
      unhealthyReason === undefined
        ? undefined
        : new QueueError('WRITER_SILENT', { message: unhealthyReason }),
    onUnhealthy: (reason) => void unhealthy.push(reason.message),
    onFenced: (error) => instance.fence(error),
    onReacquired: () => instance.onLeaseRegained(),
  });
  const instance = await assembleInstance(
    1,
    { dir },
    { lease, onClosed: () => lease.stopRenewing() },
    nodePorts,
  );
  onTestFinished(async () => {
    await instance.close();
    file.close();
    membership.close();
  });
  await instance.createQueue({ name: 'q' });
  return {
    dir,
    unhealthy,
    instance,
    lease,
    membership,
    file,
    setClock: (ms) => {
      nowMs = 1_000_000 + ms;
    },
    setUnhealthy: (reason) => {
      unhealthyReason = reason;
    },
  };
}

async function enqueue(instance: LocalInstance, payload: string): Promise<void> {
  const session = instance.openSession();
  session.enqueue('q', { payload });
  await session.commit();
  await session.close();
}

describe('a lease', () => {
  it('tells other processes of the hosting from its start, and of the epoch once it is served', async () => {
    const { lease, file } = await host();
    const { claim } = lease;
    const hosting = { instance: 1, claim, unhealthySinceMs: 0, failed: false };
    expect(file.read().hostings).toEqual([{ ...hosting, epoch: 0 }]);
    lease.announceServing(7);
    expect(file.read().hostings).toEqual([{ ...hosting, epoch: 7 }]);
  });

  it('tells it again if a host that was replaced has overwritten it', async () => {
    const { lease, file } = await host();
    lease.announceServing(7);
    const [hosting] = file.read().hostings;
    file.writeHosting({ ...hosting!, claim: lease.claim - 1, epoch: 6 });
    lease.renew();
    expect(file.read().hostings).toEqual([hosting]);
  });

  it('is held for a second after its claim was verified, whatever the heartbeats of the process say', async () => {
    const { lease, file, setClock } = await host();
    file.writeHeartbeat(1, { pid: process.pid, expiresAtMs: 1_061_000, turnlessMs: 0 });
    setClock(999);
    expect(lease.isHeld()).toBe(true);
    setClock(1_000);
    expect(lease.isHeld()).toBe(false);
    lease.renew();
    expect(lease.isHeld()).toBe(true);
  });

  it('that lapsed is renewed by the next delivery unless another process has taken the instance', async () => {
    const { instance, lease, setClock } = await host();
    await enqueue(instance, 'm');
    setClock(60_000);
    expect(lease.isHeld()).toBe(false);
    expect(text(await instance.openSession().dequeue('q'))).toEqual(['m']);
    expect(lease.isHeld()).toBe(true);
  });

  it('that lapsed and cannot be renewed makes deliveries fail with the reason', async () => {
    const { instance, setClock, setUnhealthy } = await host();
    await enqueue(instance, 'm');
    setClock(60_000);
    setUnhealthy('the writer thread has not answered');
    const session = instance.openSession();
    await expect(session.dequeue('q')).rejects.toMatchObject({
      code: 'LEASE_LAPSED',
      retryable: true,
      details: { instance: 1, reason: 'the writer thread has not answered' },
    });
    setUnhealthy(undefined);
    expect(text(await session.dequeue('q'))).toEqual(['m']);
  });

  it('is not renewed while its instance is unhealthy, and reports that once', async () => {
    const { lease, file, setClock, setUnhealthy, unhealthy } = await host();
    const unhealthySinceMs = () => file.read().hostings[0]!.unhealthySinceMs;
    setUnhealthy('the writer thread has not answered');
    for (const ms of [250, 500]) {
      setClock(ms);
      lease.renew();
    }
    setClock(1_000);
    expect(lease.isHeld()).toBe(false);
    expect(unhealthySinceMs()).toBe(1_000_250);
    expect(unhealthy).toEqual(['the writer thread has not answered']);
    setUnhealthy(undefined);
    lease.renew();
    expect(lease.isHeld()).toBe(true);
    expect(unhealthySinceMs()).toBe(0);
  });

  it('that lapsed makes dequeues wait, and they are served once it is renewed', async () => {
    const { instance, lease, setClock } = await host();
    const waiting = instance.openSession().dequeue('q', { waitMs: 10_000 });
    setClock(60_000);
    await enqueue(instance, 'm'); // A commit needs the current epoch, not a valid lease.
    expect(instance.queue('q').held).toBe(0);
    lease.renew();
    expect(text(await waiting)).toEqual(['m']);
  });

  it('ends when another process has the claim: every call is then refused', async () => {
    const { instance, lease, membership, setClock } = await host();
    const waiting = instance.openSession().dequeue('q', { waitMs: 10_000 });
    const session = instance.openSession();
    session.enqueue('q', { payload: 'staged' });
    membership.releaseClaim(lease.claim);
    membership.claim(1, 'failover');
    setClock(60_000);
    await expect(instance.openSession().dequeue('q')).rejects.toThrow(code('INSTANCE_FENCED'));
    await expect(waiting).rejects.toThrow(code('INSTANCE_FENCED'));
    expect(() => instance.openSession()).toThrow(code('INSTANCE_FENCED'));
    expect(() => session.enqueue('q', { payload: 'more' })).toThrow(code('INSTANCE_FENCED'));
    setClock(0);
    expect(lease.isHeld()).toBe(false);
  });

  it('is given up as soon as its claim is found to have ended, whether it lapsed or not', async () => {
    const { dir, instance, lease, membership } = await host();
    const other = new Membership(dir, { busyMs: 1_000, processes: nodePorts.processes });
    other.releaseClaim(lease.claim);
    other.close();
    lease.renew();
    expect(lease.isHeld()).toBe(false);
    expect(instance.endReason).toMatchObject({ code: 'INSTANCE_FENCED' });
    expect(membership.hosts()).toEqual([]);
  });
});

describe('the lease of an instance that is being closed', () => {
  /** What a process needs to host instance 1; `open` opens it under a lease whose clock the test moves. */
  function prepare() {
    const dir = makeFolder();
    let nowMs = 1_000_000;
    const membership = new Membership(dir, { busyMs: 1_000, processes: nodePorts.processes });
    const file = new LeaseFile(dir);
    const unhealthy: string[] = [];
    onTestFinished(() => {
      file.close();
      membership.close();
    });
    const open = (serve = async () => ({ close: async () => undefined })) =>
      HostedInstance.open({
        instanceId: 1,
        claim: membership.claim(1, 'owner'),
        role: 'owner',
        membership,
        leaseFile: file,
        instanceOptions: { dir },
        writerSilentMsMax: limits.writerSilentMsDefault,
        ports: { ...nodeClusterPorts, machineClock: { nowMs: () => nowMs } },
        processOf: 1,
        leaving: false,
        serve,
        onEnded: () => undefined,
        onUnhealthy: (reason) => void unhealthy.push(reason.code),
        onDamageFound: () => undefined,
      });
    const setClock = (ms: number) => {
      nowMs = 1_000_000 + ms;
    };
    return { dir, membership, file, unhealthy, open, setClock };
  }

  /** Makes the writer close its file only when the test says so. */
  function holdWriter() {
    const [asked, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const closeWriter = RedoWriter.prototype.close;
    const close = vi.spyOn(RedoWriter.prototype, 'close').mockImplementation(async function (
      this: RedoWriter,
    ) {
      asked.resolve();
      await allowed.promise;
      await closeWriter.call(this);
    });
    onTestFinished(() => close.mockRestore());
    return { asked: asked.promise, allow: allowed.resolve };
  }

  it('stays good until its files are closed, and the claim then ends', async () => {
    const { open, membership, file, setClock, unhealthy } = prepare();
    const hosted = await open();
    const writer = holdWriter();
    const closed = hosted.close();
    await writer.asked;
    for (const ms of [900, 1_800, 2_700]) {
      setClock(ms);
      vi.advanceTimersByTime(limits.leaseRenewMs);
      expect(membership.hosts()).toHaveLength(1);
      expect(file.read().hostings).toMatchObject([{ unhealthySinceMs: 0, failed: false }]);
    }
    writer.allow();
    await closed;
    expect(membership.hosts()).toEqual([]);
    expect(file.read().hostings).toMatchObject([{ failed: false }]);
    expect(unhealthy).toEqual([]);
  });

  it('asks for another host while the writer hangs, and reports that', async () => {
    const { open, file, setClock, unhealthy } = prepare();
    const hosted = await open();
    const writer = holdWriter();
    const closed = hosted.close();
    await writer.asked;
    const silentMs = vi.spyOn(RedoWriter.prototype, 'silentMs', 'get').mockReturnValue(60_000);
    onTestFinished(() => silentMs.mockRestore());
    setClock(900);
    vi.advanceTimersByTime(limits.leaseRenewMs);
    expect(unhealthy).toEqual(['WRITER_SILENT']);
    expect(file.read().hostings).toMatchObject([{ unhealthySinceMs: 1_000_900 }]);
    writer.allow();
    await closed;
  });

  it('says so if the instance had failed', async () => {
    const { open, file, membership } = prepare();
    const hosted = await open();
    hosted.instance.fence(new QueueError('INSTANCE_FAILED'));
    await hosted.close();
    expect(membership.hosts()).toEqual([]);
    expect(file.read().hostings).toMatchObject([{ failed: true }]);
  });

  it('ends with the claim if a file cannot be closed cleanly, and the other files are closed', async () => {
    const { dir, open, membership } = prepare();
    const hosted = await open();
    await hosted.instance.createQueue({ name: 'news', type: 'topic' });
    await hosted.instance.subscribe('news', { name: 'nondurable', durable: false });
    const closeUnsharded = vi
      .spyOn(UnshardedEngine.prototype, 'close')
      .mockRejectedValueOnce(new QueueError('STORAGE_FULL'));
    onTestFinished(() => closeUnsharded.mockRestore());
    await expect(hosted.close()).rejects.toThrow(code('STORAGE_FULL'));
    expect(closeUnsharded).toHaveBeenCalledTimes(2); // The second time for the grouped queues.
    expect(membership.hosts()).toEqual([]);
    const catalog = new Database(join(dir, 'catalog.db'), { readonly: true });
    expect(catalog.prepare('SELECT count(*) FROM subscriber').pluck().get()).toBe(0);
    catalog.close();
  });

  it('ends with the claim if the instance cannot be served and a file of it cannot be closed cleanly', async () => {
    const { open, membership } = prepare();
    const closeUnsharded = vi
      .spyOn(UnshardedEngine.prototype, 'close')
      .mockRejectedValueOnce(new QueueError('STORAGE_FULL'));
    onTestFinished(() => closeUnsharded.mockRestore());
    const opening = open(() => Promise.reject(new QueueError('INSTANCE_IN_USE')));
    await expect(opening).rejects.toThrow(code('INSTANCE_IN_USE'));
    expect(membership.hosts()).toEqual([]);
  });
});

describe('the epoch in the file', () => {
  it('ends a host that has not noticed yet that it was replaced, before it writes to the tables', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'q' });
    const session = instance.openSession();
    session.enqueue('q', { payload: 'm' });
    const next = new Database(join(dir, 'instance-1.db'));
    next.exec("UPDATE meta SET value = value + 1 WHERE key = 'epoch'");
    next.close();
    await session.commit(); // It has the log as long as it lives.
    await expect(instance.checkpoint()).rejects.toThrow(code('INSTANCE_FENCED'));
    expect(() => instance.openSession()).toThrow(code('INSTANCE_FENCED'));
  });
});

describe('the lock of the log', () => {
  it('keeps every other host out until the files are closed, whatever the catalog says', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'q' });
    await enqueue(instance as LocalInstance, 'a');
    editCatalog(dir, 'DELETE FROM host');
    const second = openTestInstance({ dir });
    await expect(second).rejects.toThrow(code('INSTANCE_IN_USE'));
    await enqueue(instance as LocalInstance, 'b').catch(() => undefined);
    await instance.close();
    const next = await openTestInstance({ dir });
    expect(text(await next.openSession().dequeue('q', { max: 9 }))).toContain('a');
  });
});

describe('an instance that is to leave the cluster', () => {
  it('accepts no messages, not even those staged before, and delivers the ones it has', async () => {
    const { instance } = await host();
    await enqueue(instance, 'm');
    const before = instance.openSession();
    before.enqueue('q', { payload: 'staged' });
    instance.acceptsMessages = false;
    await expect(before.commit()).rejects.toThrow(code('INSTANCE_LEAVING'));
    expect(() => before.enqueue('q', { payload: 'more' })).toThrow(code('INSTANCE_LEAVING'));
    expect(instance.isEmpty).toBe(false);
    const session = instance.openSession();
    expect(text(await session.dequeue('q', { max: 10 }))).toEqual(['m']);
    expect(instance.isEmpty).toBe(false);
    await session.commit();
    expect(instance.isEmpty).toBe(true);
  });
});
