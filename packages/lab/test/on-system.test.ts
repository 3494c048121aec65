/** What a trial reports when its server ends before it. */
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { onSystem } from '../src/programs/on-system.ts';
import { readyServer, type SpawnedServer, spawnServer } from '../src/systems/driver/server.ts';
import { systemOf } from '../src/systems/systems.ts';

/** Runs work that fails as a client does when its server has ended, which this one does by itself or not. */
async function failOn(script: string, waits: (server: SpawnedServer) => Promise<unknown>) {
  let server: SpawnedServer;
  const kind = {
    aptPackage: null,
    version: () => 'ours',
    async start() {
      server = spawnServer(process.execPath, ['-e', script]);
      return readyServer([], [server]);
    },
  };
  onTestFinished(() => server.stop('SIGKILL'));
  const dir = join(await mkdtemp(join(tmpdir(), 'shardlab-test-')), 'trial');
  return onSystem({ ...systemOf('rest'), server: kind }, { dir, limitMs: 60_000 }, async () => {
    await waits(server);
    throw new Error('The server closed the connection');
  });
}

it('says how its server failed, and what it printed', async () => {
  const script = "console.error('the lease was lost'); process.exitCode = 3";
  await expect(failOn(script, ({ child }) => once(child, 'close'))).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringMatching(/^The server failed: .* ended with code 3: the lease was lost$/),
    cause: { message: 'The server closed the connection' },
  });
});

it('reports the failure of the work while its server runs', async () => {
  const running = failOn('setInterval(() => {}, 1000)', async () => undefined);
  await expect(running).rejects.toThrow(/^The server closed the connection$/);
});
