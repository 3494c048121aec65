/** A slow disk, emulated in the writer thread: a commit waits for it, the thread that runs sessions does not. */
import { describe, expect, it } from 'vitest';
import { openTestInstance } from './folder.ts';

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
