/** The cost of passing the lock of the unsharded file from one process to another. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Instance } from '@shardlab/engine';
import type { NeighbourOrder, NeighbourReport } from './neighbour.ts';

const queue = 'calibrate-transfer';
const neighbourFile = fileURLToPath(new URL('./neighbour.ts', import.meta.url));

export interface TransferOptions {
  dir: string;
  payloadBytes: number;
  ms: number;
}

/**
 * Two processes with one session each commit single messages without a sync. The lock changes hands at every commit, so
 * a commit takes the time of a single session's commit plus one transfer. Microseconds.
 */
export async function measureTransfer(instance: Instance, options: TransferOptions): Promise<number> {
  await instance.createQueue({ name: queue, kind: 'unsharded', durability: 'relaxed' });
  const alone = await commitFor(instance, options);
  const child = fork(neighbourFile, [], { execPath: process.execPath, execArgv: [] });
  try {
    const told = () => once(child, 'message') as Promise<[NeighbourReport]>;
    const send = (type: NeighbourOrder['type']) =>
      child.send({
        type,
        dir: options.dir,
        queue,
        payloadBytes: options.payloadBytes,
      } satisfies NeighbourOrder);
    const opened = told();
    send('open');
    await opened;
    send('go');
    const together = await commitFor(instance, options);
    const stopped = told();
    send('stop');
    const [report] = await stopped;
    const theirs = report.type === 'stopped' ? report.commits : 0;
    // The neighbour starts a little earlier and ends a little later. Because both alternate, our commits give the count.
    const commits = together.commits + Math.min(theirs, together.commits);
    return Math.max(0, together.us / commits - alone.us / alone.commits);
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    }
    await instance.dropQueue(queue);
  }
}

async function commitFor(
  instance: Instance,
  { payloadBytes, ms }: TransferOptions,
): Promise<{ commits: number; us: number }> {
  const session = instance.openSession();
  const payload = Buffer.alloc(payloadBytes, 0x5a);
  let commits = 0;
  const startedAt = performance.now();
  while (performance.now() - startedAt < ms) {
    session.enqueue(queue, { payload });
    await session.commit();
    commits += 1;
  }
  const us = (performance.now() - startedAt) * 1000;
  await session.close();
  return { commits, us };
}
