import { describe, expect, it } from 'vitest';
import { LockOrder } from '../src/cluster/lock-order.ts';
import { WriteLock } from '../src/cluster/write-lock.ts';
import { makeFolder } from './folder.ts';

describe('the order of a lock', () => {
  const client = (name: string, log: string[]) => ({
    grant: () => void log.push(`grant ${name}`),
    recall: () => void log.push(`recall ${name}`),
  });

  it('goes round first come first served, and recalls only when someone waits', () => {
    const log: string[] = [];
    const order = new LockOrder();
    const [a, b, c] = ['a', 'b', 'c'].map((name) => client(name, log));
    order.ask(a!);
    order.ask(b!);
    order.ask(c!);
    expect(log).toEqual(['grant a', 'recall a']);
    order.release(a!);
    order.release(b!);
    order.release(c!);
    expect(log.slice(2)).toEqual(['grant b', 'recall b', 'grant c']);
  });

  it('passes on what a client had that left, and forgets one that waited', () => {
    const log: string[] = [];
    const order = new LockOrder();
    const [a, b, c] = ['a', 'b', 'c'].map((name) => client(name, log));
    for (const each of [a, b, c]) order.ask(each!);
    order.leave(b!);
    order.leave(a!);
    expect(log).toEqual(['grant a', 'recall a', 'grant c']);
    order.release(a!); // not the holder: nothing happens
    expect(log).toHaveLength(3);
  });
});

describe('the write lock', () => {
  it('lets several take turns, and another takes over when the one that keeps the order leaves', async () => {
    const dir = makeFolder();
    const locks = [1, 2, 3].map(() => new WriteLock({ dir, onWaited: () => undefined }));
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

  it('passes an error of the work on and serves the next call', async () => {
    const dir = makeFolder();
    const lock = new WriteLock({ dir, onWaited: () => undefined });
    await expect(
      lock.run('commit', () => {
        throw new RangeError('no');
      }),
    ).rejects.toThrow(RangeError);
    expect(await lock.run('commit', () => 7)).toBe(7);
    await lock.close();
  });

  it('lets those who were handed messages commit together with the enqueuers that waited', async () => {
    const lock = new WriteLock({ dir: makeFolder(), onWaited: () => undefined });
    await lock.run('commit', () => undefined);
    const log: string[] = [];
    const dequeuer = async () => {
      await lock.run('hand-out', () => log.push('hand-out'));
      await lock.run('commit', () => log.push('consume'));
    };
    const enqueuer = () => lock.run('commit', () => log.push('enqueue'));
    await Promise.all([enqueuer(), dequeuer(), enqueuer(), dequeuer()]);
    expect(log).toEqual(['hand-out', 'hand-out', 'enqueue', 'enqueue', 'consume', 'consume']);
    await lock.close();
  });

  it('starves neither hand-outs nor commits, however many come of the other', async () => {
    const lock = new WriteLock({ dir: makeFolder(), onWaited: () => undefined });
    for (const [flood, single] of [
      ['hand-out', 'commit'],
      ['commit', 'hand-out'],
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
});
