/** Servers that want TLS, a user, a right or a signed identity, or give an account so much room: tried with real ones. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openQueue } from '@shardlab/engine';
import { expect, it, onTestFinished } from 'vitest';
import { text } from '../../engine/test/folder.ts';
import type { JetStreamStore } from '../src/open-jetstream.ts';
import { describeOnServers } from './servers.ts';
import { signedIdentity } from './signed-identity.ts';

const code = (expected: string) => expect.objectContaining({ code: expected });
const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../apps/server/test/fixtures/${name}`, import.meta.url));
const caFile = fixture('localhost-cert.pem');

/** A message through a queue and a topic of the store, which need all rights that sessions need. */
async function use(store: JetStreamStore): Promise<void> {
  await store.createQueue({ name: 'orders', attemptsMax: 2 });
  await store.createQueue({ name: 'news', type: 'topic' });
  await store.subscribe('news', { name: 'ann' });
  const session = store.openSession();
  for (const [queue, options] of [
    ['orders', {}],
    ['news', { subscriber: 'ann' }],
  ] as const) {
    session.enqueue(queue, { payload: 'x' });
    await session.commit();
    expect(text(await session.dequeue(queue, { ...options, waitMs: 20_000 }))).toEqual(['x']);
    await session.commit();
    await store.dropQueue(queue);
  }
}

/** As docs/distributed.md shows it. */
const permissions = '{ publish: ["shardlab.>", "$JS.API.>", "$JS.ACK.>"], subscribe: "_INBOX.>" }';

describeOnServers(
  'a server with TLS and users',
  {
    servers: 1,
    configuration: `
      tls { cert_file: "${caFile}", key_file: "${fixture('localhost-key.pem')}" }
      authorization { users = [
        { user: "shardlab", password: "right", permissions: ${permissions} }
        { user: "reader", password: "right", permissions: { publish: "news", subscribe: "_INBOX.>" } }
      ] }`,
  },
  (servers) => {
    const own = { user: 'shardlab', password: 'right', tls: { caFile } };

    it('is used with the rights that the documentation names', async () => {
      const store = await servers.open(own);
      await use(store);
      await store.close();
      const [url] = servers.cluster.urls as [string];
      const queue = await openQueue({ ...own, nats: url.replace('nats:', 'tls:'), name: 'opened' });
      expect(await queue.enqueue({ payload: 'x' })).toHaveLength(1);
      await queue.close();
    });

    it('is refused with a wrong password, without the right, and if its certificate is not trusted', async () => {
      for (const wrong of [{ password: 'wrong' }, { user: 'nobody' }, { user: 'reader' }]) {
        await expect(servers.open({ ...own, ...wrong })).rejects.toThrow(code('STORE_UNAUTHORIZED'));
      }
      await expect(servers.open({ ...own, tls: {}, callMs: 500 })).rejects.toThrow(
        code('INSTANCE_UNREACHABLE'),
      );
    });
  },
);

const identity = signedIdentity();

describeOnServers(
  'a server that wants a signed identity',
  { servers: 1, configuration: identity.configuration },
  (servers) => {
    it('is used with credentials, as text or as a file, and refuses those of others', async () => {
      const dir = mkdtempSync(join(tmpdir(), 'shardlab-creds-'));
      onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
      const credentialsFile = join(dir, 'user.creds');
      writeFileSync(credentialsFile, identity.credentials);
      for (const right of [{ credentials: identity.credentials }, { credentialsFile }]) {
        const store = await servers.open(right);
        await use(store);
        await store.close();
      }
      for (const wrong of [{}, { credentials: signedIdentity().credentials }]) {
        await expect(servers.open(wrong)).rejects.toThrow(code('STORE_UNAUTHORIZED'));
      }
      await expect(servers.open({ credentialsFile: join(dir, 'none') })).rejects.toThrow(
        code('OPTIONS_INVALID'),
      );
    });
  },
);

describeOnServers(
  'an account with a quota',
  {
    servers: 1,
    configuration:
      'accounts { A { jetstream { max_file: 100KB, max_mem: 0 }, users: [{ user: "ann", password: "a" }] } }',
  },
  (servers) => {
    it('refuses what it has no room for, and keeps what it has', async () => {
      const store = await servers.open({ user: 'ann', password: 'a' });
      await store.createQueue({ name: 'full' });
      const session = store.openSession();
      const accepted: string[] = [];
      const fill = async () => {
        for (let count = 0; count < 20; count += 1) {
          const payload = `${count} ${'x'.repeat(10_000)}`;
          session.enqueue('full', { payload });
          await session.commit();
          accepted.push(payload);
        }
      };
      await expect(fill()).rejects.toThrow(code('STORAGE_FULL'));
      expect(accepted.length).toBeGreaterThan(5);
      expect(text((await store.browse('full')).messages)).toEqual(accepted);
      await session.dequeue('full', { max: 2 });
      await session.commit();
      session.enqueue('full', { payload: 'room' });
      await session.commit();
      await store.close();
    });
  },
);
