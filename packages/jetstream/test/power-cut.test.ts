/** A power cut of a server loses acknowledged messages that are not synced, and keeps synced ones. */
import { describe, expect, it } from 'vitest';
import { text } from '../../engine/test/folder.ts';
import { openJetStream } from '../src/index.ts';
import { findServer, missingForLossyDisks, NatsCluster } from '../src/servers/index.ts';

const found = findServer();
const lacking = 'missing' in found ? found.missing : missingForLossyDisks();

describe.skipIf(lacking !== null)(`a power cut${lacking === null ? '' : ` (${lacking})`}`, () => {
  it.each([
    ['interval', ['old']],
    ['always', ['old', 'new']],
  ] as const)('with sync %s leaves %j', async (sync, left) => {
    const { program } = found as { program: string };
    const cluster = await NatsCluster.start({ program, servers: 1, sync, losesUnsynced: true });
    const servers = [...cluster.urls];
    try {
      const store = await openJetStream({ servers, sync });
      await store.createQueue({ name: 'orders' });
      const session = store.openSession();
      session.enqueue('orders', { payload: 'old' });
      await session.commit();
      cluster.writeBack();
      // The next commit comes after that write-back.
      session.enqueue('orders', { payload: 'new' });
      await session.commit();
      expect(text((await store.browse('orders')).messages)).toEqual(['old', 'new']);
      await cluster.cutPower(0);
      await cluster.restart(0);
      expect(text((await store.browse('orders')).messages)).toEqual(left);
      await store.close();
    } finally {
      await cluster.stop();
    }
  });
});
