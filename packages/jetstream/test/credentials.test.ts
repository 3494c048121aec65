/** Real servers that require TLS, a user, permissions or a signed identity, or limit the storage of an account. */
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

/** Sends a message through a queue and through a topic of the store, which needs all permissions of sessions. */
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

/** The permissions that docs/distributed.md shows. */
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

    it('can be used with the permissions that the documentation names', async () => {
      const store = await servers.open(own);
      await use(store);
      await store.close();
      const [url] = servers.cluster.urls as [string];
      const queue = await openQueue({ ...own, nats: url.replace('nats:', 'tls:'), name: 'opened' });
      expect(await queue.enqueue({ payload: 'x' })).toHaveLength(1);
      await queue.close();
    });

    it('cannot be used with a wrong password, without permissions, or without trust in its certificate', async () => {
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
  'a server that requires a signed identity',
  { servers: 1, configuration: identity.configuration },
  (servers) => {
    it('can be used with credentials, as text or as a file, and refuses credentials of other operators', async () => {
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
    it('refuses messages past its quota, and keeps the ones it has', async () => {
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
