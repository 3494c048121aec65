/** The process of the home instance of tightly coupled transactions is stopped, resumed, killed and replaced. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { serveInstance } from '../../src/index.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { code, put, takeAll, xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

async function startHome(dir: string): Promise<ChildProcess> {
  const child = fork(new URL('./transfer-process.ts', import.meta.url), [dir, 'one']);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

it('no call hangs when the home instance hangs, is killed or is replaced', { timeout: 60_000 }, async () => {
  const dir = makeFolder();
  const two = await openTestInstance({ dir, instance: 2 });
  await two.createQueue({ name: 'shipments', forwarding: false });
  const served = await serveInstance(two);
  onTestFinished(() => served.close());
  const home = await startHome(dir);
  const tight = { coupling: 'tight', home: 1, lockWaitMs: 100 } as const;
  const session = two.openSession();
  const endedBranch = async (name: string) => {
    await xaOf(session).start(xidOf(name), tight);
    session.enqueue('shipments', { payload: name });
    await xaOf(session).end(xidOf(name));
  };

  for (const name of ['t1', 't2']) await endedBranch(name);
  await xaOf(session).start(xidOf('t3'), tight);
  home.kill('SIGSTOP');
  await expect(two.xa.prepare(xidOf('t1'))).rejects.toEqual(code('XA_RBCOMMFAIL'));
  await expect(xaOf(session).end(xidOf('t3'))).rejects.toEqual(code('XA_RBCOMMFAIL'));
  await expect(xaOf(session).start(xidOf('t4'), tight)).rejects.toEqual(code('XAER_RMFAIL'));
  home.kill('SIGCONT');
  await expect.poll(() => xaOf(session).start(xidOf('t4'), tight).catch(String)).toBeUndefined();
  await xaOf(session).end(xidOf('t4'));
  await kill(home);
  await expect(two.xa.prepare(xidOf('t2'))).rejects.toEqual(code('XA_RBCOMMFAIL'));
  await expect(xaOf(session).start(xidOf('t5'), tight)).rejects.toEqual(code('XAER_RMFAIL'));
  await startHome(dir);
  await expect.poll(() => endedBranch('t5').catch(String)).toBeUndefined();
  expect(await two.xa.prepare(xidOf('t5'))).toBe('ok'); // The home instance has no branch of this transaction.
  await two.xa.commit(xidOf('t5'));
  await put(two, 'shipments', 'local');
  expect(await takeAll(two, 'shipments')).toEqual(['local', 't5']);
});
