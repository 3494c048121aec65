/**
 * An instance whose state contradicts itself stops with `INVARIANT_BROKEN`: the call that finds the contradiction and every later
 * call fail with it. Nothing is written from bad state, and the instance recovers when it is opened again.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { ForwardingLedger } from '../src/forwarding/forwarding-ledger.ts';
import { type Instance, openInstance, type QueueError, serveInstance } from '../src/index.ts';
import { CursorDeliveries } from '../src/log/cursor-deliveries.ts';
import type { Delivery } from '../src/log/delivery.ts';
import { LogCursor } from '../src/log/log-cursor.ts';
import { MessageLog } from '../src/log/message-log.ts';
import type { SubscriberCursor } from '../src/log/subscriber-cursor.ts';
import type { Partition } from '../src/model/partitions.ts';
import type { InstancePorts, Timer, Timers } from '../src/model/ports.ts';
import { nodePorts } from '../src/node-ports.ts';
import { assembleInstance } from '../src/runtime/assemble-instance.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';
import { observeCalls } from './observe-calls.ts';

const broken = { code: 'INVARIANT_BROKEN', retryable: false };

/** An instance with a queue of one shard, and that shard's cursor. */
async function openWithCursor(dir = makeFolder()) {
  let cursor: SubscriberCursor | undefined;
  const end = observeCalls(MessageLog.prototype, 'addCursor', ({ result }) => {
    cursor = result;
  });
  onTestFinished(end);
  const instance = await openTestInstance({ dir, traceEvery: 0 });
  if (instance.queues().length === 0) await instance.createQueue({ name: 'q', shards: 1 });
  const session = instance.openSession();
  return { dir, instance, session, cursor: () => cursor! };
}

async function enqueue(instance: Instance, ...payloads: string[]): Promise<void> {
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue('q', { payload });
  await session.commit();
  await session.close();
}

/** The code of the error that an instance has stopped with; undefined while it serves. */
function endOf(instance: Instance): string | undefined {
  try {
    instance.queue('q');
    return undefined;
  } catch (error) {
    return (error as QueueError).code;
  }
}

function expectStopped(instance: Instance): void {
  expect(() => instance.queue('q')).toThrow(expect.objectContaining(broken));
  expect(() => instance.openSession()).toThrow(expect.objectContaining(broken));
}

/** Opens the instance again and returns what it delivers. */
async function payloadsAfterReopening(instance: Instance, dir: string): Promise<string[]> {
  await instance.close();
  const reopened = await openTestInstance({ dir });
  return text(await reopened.openSession().dequeue('q', { max: 10, waitMs: 0 }));
}

describe('the cursor of a shard', () => {
  it('does not let a group be written that consumes a delivery which has already ended', async () => {
    const { dir, instance, session, cursor } = await openWithCursor();
    const taken: Delivery[] = [];
    const end = observeCalls(LogCursor.prototype, 'deliver', ({ args }) => {
      taken.push(...(args[0].out as Delivery[]));
    });
    onTestFinished(end);
    await enqueue(instance, 'a');
    expect(text(await session.dequeue('q', { waitMs: 1_000 }))).toEqual(['a']);
    cursor().deliveries.nack(taken);
    session.enqueue('q', { payload: 'b' });
    await expect(session.commit()).rejects.toMatchObject(broken);
    expectStopped(instance);
    expect(await payloadsAfterReopening(instance, dir)).toEqual(['a']);
  });

  it('stops the instance with the next group if it counts more held messages than the log has', async () => {
    const { dir, instance, session, cursor } = await openWithCursor();
    await enqueue(instance, 'a');
    cursor().deliveries.held = 10;
    session.enqueue('q', { payload: 'b' });
    await session.commit(); // The counts are compared only once the group is durable.
    expectStopped(instance);
    await expect(session.dequeue('q')).rejects.toMatchObject(broken);
    expect(await payloadsAfterReopening(instance, dir)).toEqual(['a', 'b']);
  });

  it('delivers nothing if it would deliver a message that is not committed', async () => {
    const { dir, instance, session, cursor } = await openWithCursor();
    await enqueue(instance, 'a');
    cursor().log.committedEndSeq = 1;
    await expect(session.dequeue('q')).rejects.toMatchObject(broken);
    expectStopped(instance);
    expect(await payloadsAfterReopening(instance, dir)).toEqual(['a']);
  });
});

describe('the partitions of a shard', () => {
  it('do not let a group be written if the one to fill is free', async () => {
    const { dir, instance, session, cursor } = await openWithCursor();
    await enqueue(instance, 'a');
    const [partition] = cursor().log.partitions.all;
    partition!.apply('truncate');
    partition!.apply('release');
    session.enqueue('q', { payload: 'b' });
    await expect(session.commit()).rejects.toMatchObject(broken);
    expectStopped(instance);
    expect(await payloadsAfterReopening(instance, dir)).toEqual(['a']);
  });

  it.each([
    ['before', 0],
    ['while', 10_000],
  ])('stop the instance %s a message is read that none of them contains', async (when, waitMs) => {
    const first = await openWithCursor();
    await enqueue(first.instance, 'a');
    await first.instance.close();
    const { dir, instance, session, cursor } = await openWithCursor(first.dir);
    const forgetPartitions = () => (cursor().log.partitions.all as Partition[]).splice(0);
    if (when === 'before') forgetPartitions();
    const dequeued = session.dequeue('q', { waitMs });
    if (when === 'while') forgetPartitions();
    await expect(dequeued).rejects.toMatchObject(broken);
    expectStopped(instance);
    expect(await payloadsAfterReopening(instance, dir)).toEqual(['a']);
  });

  it('stop the instance instead of being truncated with a live message', async () => {
    const { dir, instance, session, cursor } = await openWithCursor();
    await enqueue(instance, 'a');
    const { log } = cursor();
    // Claims that every message of the partition is terminal.
    log.partitions.beginTruncatingDrained = () => [log.partitions.all[0]!];
    session.enqueue('q', { payload: 'b' });
    await expect(session.commit()).rejects.toMatchObject(broken);
    expectStopped(instance);
    expect(await payloadsAfterReopening(instance, dir)).toEqual(['a', 'b']);
  });
});

describe('work for which no caller waits', () => {
  it('stops the instance and not its process when a timer resumes an already resumed message', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, traceEvery: 0 });
    await instance.createQueue({ name: 'q', shards: 1, attemptsMax: 3, retryDelayMs: 20 });
    await enqueue(instance, 'a');
    const end = observeCalls(CursorDeliveries.prototype, 'pause', ({ of, args: [delivery] }) => {
      (of as CursorDeliveries<Delivery>).resume(delivery);
    });
    onTestFinished(end);
    const session = instance.openSession();
    expect(text(await session.dequeue('q', { waitMs: 1_000 }))).toEqual(['a']);
    await session.rollback();
    await expect.poll(() => endOf(instance)).toBe('INVARIANT_BROKEN'); // A timer finds it, whose uncaught error would fail this run.
    expectStopped(instance);
    expect(await payloadsAfterReopening(instance, dir)).toEqual(['a']);
  });

  it('stops the instance and not its process when a later turn serves waiting calls', async () => {
    const { dir, instance, session, cursor } = await openWithCursor();
    const many = limits.resumedOperationsPerTurnMax + 10;
    const waiting = Array.from({ length: many }, () => {
      const consumer = instance.openSession();
      return consumer.dequeue('q', { waitMs: 60_000 });
    });
    let delivered = 0;
    const end = observeCalls(LogCursor.prototype, 'deliver', ({ args }) => {
      delivered += args[0].out.length;
      if (delivered !== limits.resumedOperationsPerTurnMax) return;
      // This turn serves no more calls. The state breaks after it, which the next turn finds.
      delivered = Number.POSITIVE_INFINITY;
      queueMicrotask(() => {
        cursor().log.committedEndSeq = 1;
      });
    });
    onTestFinished(end);
    for (let count = 0; count < many; count++) session.enqueue('q', { payload: 'a' });
    await session.commit();
    const results = await Promise.allSettled(waiting);
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(10);
    expectStopped(instance);
    expect(await payloadsAfterReopening(instance, dir)).toHaveLength(10);
  });
});

/** Simulates a bug in the code that reads the property first. */
function throwOnFirstRead<T extends object>(of: T, property: keyof T): void {
  const value = of[property];
  const get = () => {
    Object.defineProperty(of, property, { value });
    throw new TypeError('a bug');
  };
  Object.defineProperty(of, property, { get, configurable: true });
}

describe('a forwarding', () => {
  async function serve(dir: string, id: number): Promise<Instance> {
    const instance = await openInstance({ dir, instance: id });
    const served = await serveInstance(instance);
    onTestFinished(() => served.close().then(() => instance.close()));
    return instance;
  }

  async function pair() {
    const dir = makeFolder();
    const owner = await serve(dir, 1);
    await owner.createQueue({ name: 'q', shards: 1 });
    const other = await serve(dir, 2);
    return { owner, other };
  }

  it('stops its sender when a batch is accepted twice', async () => {
    const { owner, other } = await pair();
    const end = observeCalls(ForwardingLedger.prototype, 'apply', ({ of, args: [command] }) => {
      if (command === 'send') (of as ForwardingLedger).apply('accept');
    });
    onTestFinished(end);
    await enqueue(owner, 'a');
    const waiting = other.openSession().dequeue('q', { waitMs: 60_000 });
    await expect.poll(() => endOf(owner)).toBe('INVARIANT_BROKEN');
    expectStopped(owner);
    // The receiver had committed the batch, and delivers it.
    expect(text(await waiting)).toEqual(['a']);
  });

  it('stops its sender when a batch cannot be encoded, which is not taken for a lost connection', async () => {
    const { owner, other } = await pair();
    const end = observeCalls(
      LogCursor.prototype,
      'takeForForwarding',
      ({ args: [{ out }], result: taken }) => {
        if (taken > 0) throwOnFirstRead(out.at(-1)!, 'deliveryCount');
      },
    );
    onTestFinished(end);
    await enqueue(owner, 'a');
    const waiting = other.openSession().dequeue('q', { waitMs: 60_000 });
    await expect.poll(() => endOf(owner)).toBe('INSTANCE_FAILED');
    await other.close();
    expect(await waiting).toEqual([]);
  });
});

/** Real ports that know which of their timers are still to fire. */
function countingPorts(): { ports: InstancePorts; pending: Set<Timer> } {
  const pending = new Set<Timer>();
  const counted =
    (start: Timers['after'], { once }: { once: boolean }): Timers['after'] =>
    (ms, callback) => {
      const timer = start(ms, () => {
        if (once) pending.delete(counting);
        callback();
      });
      const counting = {
        cancel: () => {
          pending.delete(counting);
          timer.cancel();
        },
      };
      pending.add(counting);
      return counting;
    };
  const { after, deadline, every, nextTurn } = nodePorts.timers;
  const timers = {
    after: counted(after, { once: true }),
    deadline: counted(deadline, { once: true }),
    every: counted(every, { once: false }),
    nextTurn,
  };
  return { ports: { ...nodePorts, timers }, pending };
}

describe('an instance whose recovery contradicts itself', () => {
  async function prepare(): Promise<string> {
    const { dir, instance, session } = await openWithCursor();
    await enqueue(instance, 'a');
    session.enqueue('q', { payload: 'later', delayMs: 3_600_000 });
    await session.commit();
    await instance.close();
    return dir;
  }

  function breakRecovery(): () => void {
    return observeCalls(LogCursor.prototype, 'recover', ({ of }) => {
      (of as SubscriberCursor).deliveries.held = 10;
    });
  }

  it('is not opened', async () => {
    const dir = await prepare();
    const end = breakRecovery();
    await expect(openInstance({ dir })).rejects.toMatchObject(broken);
    end();
    const reopened = await openTestInstance({ dir });
    expect(text(await reopened.openSession().dequeue('q', { waitMs: 1_000 }))).toEqual(['a']);
  });

  it('leaves nothing behind, however often a takeover tries it', async () => {
    const dir = await prepare();
    const { ports, pending } = countingPorts();
    const open = () => assembleInstance(1, { dir }, { onClosed: () => undefined }, ports);
    const end = breakRecovery();
    for (let tries = 0; tries < 3; tries += 1) await expect(open()).rejects.toMatchObject(broken);
    end();
    expect(pending.size).toBe(0);
    const opened = await open();
    expect(pending.size).toBeGreaterThan(0); // the sampler's and that of the delayed message, for example
    await opened.close();
    expect(pending.size).toBe(0);
  });
});
