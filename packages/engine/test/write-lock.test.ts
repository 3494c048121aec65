import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Timers } from '../src/model/ports.ts';
import { WaitRecorder } from '../src/model/wait-recorder.ts';
import { nodePorts } from '../src/node-ports.ts';
import { socketPath } from '../src/storage/socket-path.ts';
import { LockQueue } from '../src/unsharded/lock-queue.ts';
import { idOfHolder, WriteLock, type WriteLockHolder, writeLock } from '../src/unsharded/write-lock.ts';
import { makeFolder } from './folder.ts';

describe('the order of a lock', () => {
  const client = (name: string, log: string[]) => ({
    grant: () => void log.push(`grant ${name}`),
    recall: () => void log.push(`recall ${name}`),
  });

  it('serves in order of arrival, and recalls the lock only when another waits', () => {
    const log: string[] = [];
    const order = new LockQueue();
    const [a, b, c] = ['a', 'b', 'c'].map((name) => client(name, log));
    order.acquire(a!);
    order.acquire(b!);
    order.acquire(c!);
    expect(log).toEqual(['grant a', 'recall a']);
    order.release(a!);
    order.release(b!);
    order.release(c!);
    expect(log.slice(2)).toEqual(['grant b', 'recall b', 'grant c']);
  });

  it('passes the lock on when its holder leaves, and removes a leaving client that waits', () => {
    const log: string[] = [];
    const order = new LockQueue();
    const [a, b, c] = ['a', 'b', 'c'].map((name) => client(name, log));
    for (const each of [a, b, c]) order.acquire(each!);
    order.remove(b!);
    order.remove(a!);
    expect(log).toEqual(['grant a', 'recall a', 'grant c']);
    order.release(a!); // Client `a` is not the holder, so nothing happens.
    expect(log).toHaveLength(3);
  });
});

describe('the write lock', () => {
  it('is taken in turn by several processes, and when the one that orders the waiting ones leaves, another takes over', async () => {
    const dir = makeFolder();
    const locks = [1, 2, 3].map(() => new WriteLock({ dir, ports: nodePorts, onWaited: () => undefined }));
    const log: number[] = [];
    const turns = (index: number) =>
      Promise.all([1, 2, 3].map(() => locks[index]!.run('commit', () => log.push(index))));
    await turns(0);
    await Promise.all([turns(1), turns(2)]);
    await locks[0]!.close();
    await Promise.all([turns(1), turns(2)]);
    expect(log.filter((index) => index === 1)).toHaveLength(6);
    expect(log.filter((index) => index === 2)).toHaveLength(6);
    await expect(locks[0]!.run('commit', () => 1)).rejects.toThrow(
      expect.objectContaining({ code: 'INSTANCE_CLOSED' }),
    );
    await Promise.all(locks.map((lock) => lock.close()));
  });

  it('passes on an error of the work, and serves the next call', async () => {
    const dir = makeFolder();
    const lock = new WriteLock({ dir, ports: nodePorts, onWaited: () => undefined });
    await expect(
      lock.run('commit', () => {
        throw new RangeError('no');
      }),
    ).rejects.toThrow(RangeError);
    expect(await lock.run('commit', () => 7)).toBe(7);
    await lock.close();
  });

  it('is held by the session or instance whose work runs, and by none in between', async () => {
    const waits = new WaitRecorder({ clock: nodePorts.clock });
    const holder = waits.openHolderSlot<WriteLockHolder>(writeLock, idOfHolder);
    const lock = new WriteLock({ dir: makeFolder(), ports: nodePorts, onWaited: () => undefined, holder });
    const seen: unknown[] = [];
    const see = () => void seen.push(holder.holderId);
    const fail = () => {
      see();
      throw new RangeError('no');
    };
    const calls = [
      lock.run('commit', see, waits.openSession(11)),
      lock.run('commit', see),
      expect(lock.run('commit', fail, waits.openSession(12))).rejects.toThrow(RangeError),
      lock.run('commit', see, waits.openSession(13)),
    ];
    await Promise.all(calls.map((call) => call.then(see)));
    expect(seen).toEqual([11, 'the instance itself', 12, 13, null, null, null, null]);
    await lock.close();
  });

  it('distinguishes waits for another process from waits for sessions of the same process', async () => {
    const dir = makeFolder();
    let nowMs = 0;
    const ports = { ...nodePorts, clock: { ...nodePorts.clock, monotonicMs: () => nowMs } };
    const waits = new WaitRecorder({ clock: ports.clock });
    const elsewhereMs = [0, 0];
    const [first, second] = [0, 1].map((index) => {
      const onHeldElsewhere = (ms: number) => {
        elsewhereMs[index]! += ms;
      };
      return new WriteLock({ dir, ports, onWaited: () => undefined, onHeldElsewhere });
    });
    const write = () => {
      nowMs += 10;
    };
    await first!.run('commit', () => undefined, waits.openSession());
    // One process only: a session waits for two other sessions.
    await Promise.all([1, 2, 3].map(() => first!.run('commit', write, waits.openSession())));
    expect(elsewhereMs).toEqual([0, 0]);
    // The first process writes once more after the lock was recalled.
    const kept = first!.run('commit', write, waits.openSession());
    await Promise.all([kept, second!.run('commit', write, waits.openSession())]);
    expect(elsewhereMs).toEqual([0, 10]);
    await Promise.all([first!.close(), second!.close()]);
  });

  it('lets consumers commit together with waiting enqueuers', async () => {
    const lock = new WriteLock({ dir: makeFolder(), ports: nodePorts, onWaited: () => undefined });
    await lock.run('commit', () => undefined);
    const log: string[] = [];
    const dequeuer = async () => {
      await lock.run('delivery', () => log.push('delivery'));
      await lock.run('commit', () => log.push('consume'));
    };
    const enqueuer = () => lock.run('commit', () => log.push('enqueue'));
    await Promise.all([enqueuer(), dequeuer(), enqueuer(), dequeuer()]);
    expect(log).toEqual(['delivery', 'delivery', 'enqueue', 'enqueue', 'consume', 'consume']);
    await lock.close();
  });

  it('starves neither deliveries nor commits, however many of the other kind arrive', async () => {
    const lock = new WriteLock({ dir: makeFolder(), ports: nodePorts, onWaited: () => undefined });
    for (const [flood, single] of [
      ['delivery', 'commit'],
      ['commit', 'delivery'],
    ] as const) {
      let served = false;
      let others = 0;
      const again = async () => {
        for (; !served; others += 1) await lock.run(flood, () => undefined);
      };
      const flooding = [again(), again()];
      await lock.run(single, () => {
        served = true;
      });
      expect(others).toBeLessThan(10);
      await Promise.all(flooding);
    }
    await lock.close();
  });

  it('that was released can be kept by its next holder, however often the earlier hold was recalled', async () => {
    const dir = makeFolder();
    let deadlines = 0;
    const deadline: Timers['deadline'] = (ms, callback) => {
      const isRevoking = ms === 1_000;
      if (isRevoking) deadlines += 1;
      const timer = nodePorts.timers.deadline(ms, callback);
      let isLive = true;
      return {
        cancel: () => {
          if (isRevoking && isLive) deadlines -= 1;
          isLive = false;
          timer.cancel();
        },
      };
    };
    const ports = { ...nodePorts, timers: { ...nodePorts.timers, deadline } };
    const server = new WriteLock({ dir, ports, onWaited: () => undefined });
    await server.run('commit', () => undefined);
    const join = async () => {
      const socket = connect(socketPath(dir, 'write-lock.sock'));
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      socket.write('A');
      return socket;
    };
    const holder = await join();
    const told = async (tag: string) =>
      expect(String(await once(holder, 'data').then(([data]) => data))).toBe(tag);
    await told('G');
    const recalled = told('C');
    const leaver = await join();
    await recalled;
    const recalledAgain = told('C');
    leaver.destroy();
    await once(leaver, 'close');
    const next = await join();
    await recalledAgain;
    holder.write('R');
    expect(String((await once(next, 'data'))[0])).toBe('G');
    expect(deadlines).toBe(0);
    await server.close();
  });
});
