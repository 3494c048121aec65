/** The process that receives a payload over its socket is killed by SIGKILL in the middle of it, and started again. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import { connect } from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { bytesOf, digest, stored } from '../streams/payloads.ts';
import { code } from './serving.ts';

const MiB = 1024 * 1024;
const host = fileURLToPath(new URL('./host.ts', import.meta.url));

async function start(dir: string): Promise<ChildProcess> {
  const child = fork(host, [dir, 'sharded']);
  onTestFinished(() => kill(child));
  await once(child, 'message');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

it('the upload fails and leaves nothing, its session can repeat it, and committed messages are kept', async () => {
  const dir = makeFolder();
  const first = await start(dir);
  const client = await connect({ dir });
  onTestFinished(() => client.close());
  const session = client.openSession();
  await session.enqueueStream('q', { payload: bytesOf(1, 5 * MiB) });
  await session.commit();

  const source = async function* () {
    yield* bytesOf(2, 6 * MiB);
    await kill(first);
    yield* bytesOf(2, 6 * MiB);
  };
  await expect(session.enqueueStream('q', { payload: source() })).rejects.toThrow(
    code('INSTANCE_UNREACHABLE'),
  );
  expect(stored(dir).chunks).toBeGreaterThan(20); // Besides the chunks of the first payload there are orphans.

  await start(dir);
  await session.enqueueStream('q', { payload: bytesOf(2, 6 * MiB) });
  await session.commit();
  await vi.waitFor(() => expect(stored(dir)).toMatchObject({ chunks: 44, payloads: 2, uses: 2 }), {
    timeout: 20_000,
    interval: 20,
  });
  for (const [seed, bytes] of [
    [1, 5 * MiB],
    [2, 6 * MiB],
  ] as const) {
    const [message] = await session.dequeue('q', { waitMs: 10_000 });
    expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(seed, bytes)));
  }
  await session.commit();
});
