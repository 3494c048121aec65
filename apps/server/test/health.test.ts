/** Health is derived from commits: these tests fill a real disk and block a real writer. */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Writable } from 'node:stream';
import type { Health } from '@shardlab/contract';
import * as contract from '@shardlab/contract';
import { Ajv } from 'ajv';
import { describe, expect, it, vi } from 'vitest';
import { editCatalog } from '../../../packages/engine/test/support/edit-catalog.ts';
import { exitCodes } from '../src/exit.ts';
import { ServerProcess } from './server-process.ts';
import { makeDataDir, smallScenario, startApp, waiting } from './start-app.ts';

const validate = new Ajv({ strict: false }).compile(contract.Health);
const headers = { 'content-type': 'application/json' };

async function readHealth(url: string): Promise<{ status: number; body: Health }> {
  const response = await fetch(`${url}/api/health`);
  const body = (await response.json()) as Health;
  validate(body);
  expect(validate.errors).toBeNull();
  return { status: response.status, body };
}

const post = (url: string, body: unknown) =>
  fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });

/** A command that runs its last arguments with a file system of this size, in memory, mounted at `dir`. */
const onSmallDisk = (dir: string, mib: number) => [
  'unshare',
  '--mount',
  '--map-root-user',
  'sh',
  '-c',
  'mount -t tmpfs -o size="$1"m small "$2" && shift 2 && exec "$@"',
  'sh',
  String(mib),
  dir,
];

function whyNoSmallDisk(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  const [command = '', ...args] = [...onSmallDisk('/mnt', 1), 'true'];
  return spawnSync(command, args).status === 0 ? undefined : 'needs the right to mount a file system';
}
const noSmallDisk = whyNoSmallDisk();

describe('the health of a server', () => {
  it('is ready once its instance has committed, and is live as long as it answers', async () => {
    const test = await startApp();
    for (const path of ['/api/health', '/api/health/ready']) {
      const { status, body } = await test.get<Health>(path);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        status: 'ok',
        instances: [{ instance: 1, state: 'serving', reason: null }],
      });
    }
    expect(await test.get('/api/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
  });

  it.skipIf(noSmallDisk)(
    `says that its disk is full, and when there is room again (${noSmallDisk ?? 'on a small one'})`,
    async () => {
      const DATA_DIR = makeDataDir();
      const server = new ServerProcess({ DATA_DIR }, { through: onSmallDisk(DATA_DIR, 64) });
      const url = await server.ready();
      expect(await readHealth(url)).toMatchObject({ status: 200, body: { status: 'ok' } });
      // Only the mount namespace of the server has this file system.
      const ballast = join(`/proc/${server.child.pid}/root`, DATA_DIR, 'ballast');
      try {
        writeFileSync(ballast, Buffer.alloc(64 * 1024 * 1024));
      } catch (error) {
        expect(error).toMatchObject({ code: 'ENOSPC' });
      }
      await vi.waitFor(async () => {
        expect(await readHealth(url)).toMatchObject({
          status: 503,
          body: {
            status: 'failed',
            instances: [{ instance: 1, state: 'failed', reason: { code: 'STORAGE_FULL' } }],
          },
        });
      }, waiting);
      expect((await fetch(`${url}/api/health/live`)).status).toBe(200);
      expect(await (await fetch(`${url}/metrics`)).text()).toMatch(
        /^shardlab_instance_up\{instance="1"\} 1\n(.*\n)*shardlab_instance_ready\{instance="1"\} 0$/m,
      );
      const { instances } = (await (await fetch(`${url}/api/cluster`)).json()) as contract.Cluster;
      expect(instances[0]!.unready).toMatchObject({ code: 'STORAGE_FULL' });
      // The lab's own file has some room left in its log.
      const upload = (id: string) => post(`${url}/api/scenarios`, smallScenario({ id }));
      let refused = await upload('first');
      for (let count = 0; refused.status === 201 && count < 500; count += 1)
        refused = await upload(`next-${count}`);
      for (const answer of [refused, await post(`${url}/api/runs`, { scenario: smallScenario() })]) {
        expect(answer.status).toBe(503);
        expect(await answer.json()).toMatchObject({ code: 'STORAGE_FULL', retryable: true });
      }
      for (const path of ['/api/runs', '/api/scenarios', '/api/claims'])
        expect((await fetch(`${url}${path}`)).status).toBe(200);
      rmSync(ballast);
      await vi.waitFor(async () => expect((await readHealth(url)).status).toBe(200), waiting);
      expect((await upload('last')).status).toBe(201);
    },
  );

  it.each(['cluster/catalog.db', 'cluster/instance-1.db', 'cluster/instance-1.redo-1', 'lab.db'])(
    'is not ready once its %s was deleted, and says so in its log',
    async (path) => {
      let said = '';
      const stream = new Writable({
        write(chunk, _encoding, done) {
          said += String(chunk);
          done();
        },
      });
      const test = await startApp({ logger: { level: 'error', stream } });
      expect((await test.get('/api/health/ready')).status).toBe(200);
      rmSync(join(test.dataDir, path));
      await vi.waitFor(async () => {
        const { status, body } = await test.get<Health>('/api/health/ready');
        expect(status).toBe(503);
        const reason = body.reasons?.[0] ?? body.instances[0]!.reason;
        expect(reason).toMatchObject({ code: 'STORAGE_REPLACED' });
        expect(reason!.message).toContain(basename(path));
      }, waiting);
      expect((await test.get('/api/health/live')).status).toBe(200);
      await test.get('/api/health/ready');
      expect(said.match(/was deleted or replaced/g)).toHaveLength(1);
    },
  );

  it('ends the server with an exit code when its applier is stuck, though commits go on and the thread cannot be ended', {
    timeout: 150_000, // it waits for the applier for 30 s
  }, async () => {
    const dir = makeDataDir();
    const [flag, fifo] = [join(dir, 'flag'), join(dir, 'fifo')];
    expect(spawnSync('mkfifo', [fifo]).status).toBe(0);
    const server = new ServerProcess({
      DATA_DIR: join(dir, 'data'),
      NODE_OPTIONS: `--import=${new URL('./stuck-writer.ts', import.meta.url).href}`,
      STUCK_WRITER_FLAG: flag,
      STUCK_WRITER_FIFO: fifo,
    });
    const url = await server.ready();
    await post(`${url}/api/queues`, { name: 'q' });
    writeFileSync(flag, '');
    await post(`${url}/api/queues/q/messages`, { messages: [{ payload: 1 }] });
    expect((await readHealth(url)).status).toBe(200);
    expect(await server.ended).toEqual({ code: exitCodes.writerSilent, signal: null });
    expect(server.stderr).toContain('WRITER_SILENT');
  });
});

describe('a server whose data folder another server has taken over', () => {
  /** Does what another server would do that takes this one for dead, for example because it is in another pid namespace. */
  const takeOver = (dataDir: string, sql: string) => editCatalog(join(dataDir, 'cluster'), sql);

  it('ends with an exit code if it hosts the instance itself', async () => {
    const DATA_DIR = makeDataDir();
    const server = new ServerProcess({ DATA_DIR });
    await server.ready();
    takeOver(DATA_DIR, `UPDATE host SET pid_started = 'another boot'`);
    const next = new ServerProcess({ DATA_DIR });
    const url = await next.ready();
    expect(await server.ended).toEqual({ code: exitCodes.deposed, signal: null });
    expect(server.stderr).toContain('INSTANCE_FENCED');
    expect((await readHealth(url)).status).toBe(200);
  });

  it('ends with an exit code if it supervises processes, which end too', async () => {
    const DATA_DIR = makeDataDir();
    const server = new ServerProcess({ DATA_DIR });
    await fetch(`${await server.ready()}/api/cluster/topology`, {
      method: 'PUT',
      headers,
      body: JSON.stringify({ instances: 2 }),
    });
    takeOver(DATA_DIR, `UPDATE singleton SET pid_started = 'another boot'`);
    const next = new ServerProcess({ DATA_DIR });
    const url = await next.ready();
    expect(await server.ended).toEqual({ code: exitCodes.deposed, signal: null });
    expect(server.stderr).toContain('CLUSTER_DEPOSED');
    expect((await readHealth(url)).body.instances).toHaveLength(2);
  });
});
