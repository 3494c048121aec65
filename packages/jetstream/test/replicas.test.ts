/** A queue with the maximum number of replicas. */
import { expect, it } from 'vitest';
import { text } from '../../engine/test/folder.ts';
import { describeOnServers } from './servers.ts';

describeOnServers('a queue on five servers', { servers: 5 }, (servers) => {
  it('continues while two of them are dead, with all committed messages', { timeout: 120_000 }, async () => {
    const store = await servers.open({ replicas: 5, callMs: 60_000, outcomeMs: 50_000 });
    await store.createQueue({ name: 'five' });
    const session = store.openSession();
    const enqueue = async (payload: string) => {
      session.enqueue('five', { payload });
      await session.commit();
    };
    await enqueue('before');
    await Promise.all([0, 1].map((server) => servers.cluster.kill(server)));
    await enqueue('after');
    const found: string[] = [];
    while (found.length < 2) found.push(...text(await session.dequeue('five', { max: 2, waitMs: 20_000 })));
    await session.commit();
    expect(found).toEqual(['before', 'after']);
    await store.close();
  });
});
