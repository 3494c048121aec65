/** The writer thread emulates a slow disk: a commit waits for it, and the thread that runs sessions does not. */
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Instance } from '../src/index.ts';
import { openEmulatedDisk } from '../src/storage/emulated-disk.ts';
import { makeFolder, openTestInstance } from './folder.ts';

const syncMs = 50;

describe('an emulated sync', () => {
  it('makes a commit wait, leaves the session thread free and is marked as emulated', async () => {
    const instance = await openTestInstance({ emulatedSyncMs: syncMs });
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'a' });
    const startedAt = performance.now();
    let turns = 0;
    const turning = setInterval(() => {
      turns += 1;
    }, 1);
    await session.commit();
    clearInterval(turning);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(syncMs);
    expect(turns).toBeGreaterThan(5);
    const wait = instance.waits.snapshot().find(({ event }) => event === 'log file sync');
    expect(wait).toMatchObject({ emulated: true, waits: 1 });
  });

  it.each([-1, 1_001, Number.NaN])('of %s ms is refused', async (emulatedSyncMs) => {
    await expect(openTestInstance({ emulatedSyncMs })).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
    });
  });
});

describe('an emulated disk', () => {
  const commitOne = async (instance: Instance) => {
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'a' });
    const startedMs = performance.now();
    await session.commit();
    return performance.now() - startedMs;
  };

  it('uses its sync times in turn', async () => {
    const instance = await openTestInstance({ emulatedSyncMs: [0, 200, 0, 400] });
    await instance.createQueue({ name: 'orders' });
    const took: number[] = [];
    for (let each = 0; each < 4; each += 1) took.push(await commitOne(instance));
    // A busy machine can make a sync longer, never shorter.
    expect(took[1]).toBeGreaterThanOrEqual(200);
    expect(took[3]).toBeGreaterThanOrEqual(400);
  });

  it('serves the syncs of instances that share it one after the other; otherwise each instance has its own disk', async () => {
    const dir = makeFolder();
    const options = { dir, emulatedSyncMs: 150, emulatedSyncDevice: join(dir, 'redo') };
    const one = await openTestInstance({ ...options, instance: 1 });
    const two = await openTestInstance({ ...options, instance: 2 });
    await one.createQueue({ name: 'orders' });
    const both = await Promise.all([commitOne(one), commitOne(two)]);
    expect(Math.max(...both)).toBeGreaterThanOrEqual(300);
  });

  it('is used by the writer process too, which writes once the application uses SQL', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({
      dir,
      emulatedSyncMs: 150,
      emulatedSyncDevice: join(dir, 'redo'),
    });
    const session = instance.openSession();
    session.execute('CREATE TABLE orders (id INTEGER PRIMARY KEY)');
    const startedMs = performance.now();
    await session.commit();
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(150);
  });

  describe('makes a sync last as long as the slower of emulated and real disk', () => {
    /** Disks on a clock that only `real` moves. `paused` records each pause of a disk, ms. */
    function openDisks(sync: { times: number[]; device?: string }, count: number) {
      let nowMs = 1_000;
      const disks = Array.from({ length: count }, () => {
        const paused: number[] = [];
        const disk = openEmulatedDisk(
          { device: undefined, ...sync },
          { machineClock: { nowMs: () => nowMs }, thread: { sleep: (ms) => paused.push(ms) } },
        )!;
        onTestFinished(() => disk.close());
        return { disk, paused };
      });
      const real = (ms: number) => {
        nowMs += ms;
      };
      return { disks, real };
    }

    it('and pauses after the real sync only for the rest of the emulated time', () => {
      const { disks, real } = openDisks({ times: [50] }, 1);
      const { disk, paused } = disks[0]!;
      disk.begin();
      real(30);
      disk.end();
      expect(paused).toEqual([20]);
      real(20);
      disk.begin();
      real(80);
      disk.end();
      expect(paused).toEqual([20]);
    });

    it('and queues behind the syncs of other instances that share it', () => {
      const { disks, real } = openDisks({ times: [150], device: join(makeFolder(), 'redo') }, 2);
      const [one, two] = disks as [(typeof disks)[0], (typeof disks)[0]];
      one.disk.begin();
      real(10);
      two.disk.begin();
      real(90);
      one.disk.end();
      two.disk.end();
      expect([one.paused, two.paused]).toEqual([[50], [200]]);
    });

    it('and does not wait for a longer real sync of another instance', () => {
      const { disks, real } = openDisks({ times: [20], device: join(makeFolder(), 'redo') }, 2);
      const [one, two] = disks as [(typeof disks)[0], (typeof disks)[0]];
      one.disk.begin();
      real(100);
      two.disk.begin();
      real(15);
      two.disk.end();
      one.disk.end();
      expect([one.paused, two.paused]).toEqual([[], [5]]);
    });
  });

  it.each([[], [1, -1], [0, 1_001]])('with the times %j is refused', async (...emulatedSyncMs) => {
    await expect(openTestInstance({ emulatedSyncMs })).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
  });
});
