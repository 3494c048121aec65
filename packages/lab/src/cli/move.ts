/** `move <folder> <queue> <address>`, and back with both ends exchanged: a queue between the local engine and NATS JetStream. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ClusterClient,
  connectCluster,
  isStoreAddress,
  openInstance,
  parseStoreAddress,
  QueueError,
  readMembers,
  startCluster,
} from '@shardlab/engine';
import type { LocalQueues, MoveStep } from '@shardlab/jetstream';
import { exitCodes } from '../errors/exit-codes.ts';
import { assertHasQueues, clusterFolder } from './folders.ts';

export interface MoveFlags {
  'drain-s'?: string | undefined;
}

const stepInWords: Readonly<Record<MoveStep, string>> = {
  stop: 'stop enqueue and dequeue',
  drain: 'drain: wait until no session holds a message',
  create: 'create the queue at its new place, still stopped for dequeue',
  copy: 'copy the messages',
  check: 'check that all of them arrived',
  switch: 'switch: from here on the new queue is used',
  drop: 'drop the old queue',
  done: 'done',
};

interface OpenLocal {
  queues: LocalQueues;
  close(): Promise<void>;
}

/** `from` and `to`: one is a folder, the other the address of servers. */
export async function moveCommand(
  { from, queue, to }: { from: string; queue: string; to: string },
  flags: MoveFlags,
): Promise<number> {
  const toServers = isStoreAddress(to);
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once('SIGINT', interrupt);
  let local: OpenLocal | undefined;
  try {
    const { nats: servers, transactions: _none, ...store } = parseStoreAddress(toServers ? to : from);
    const { moveToJetStream, moveToLocal } = await import('@shardlab/jetstream');
    local = await openLocal(clusterFolder(toServers ? from : to), toServers);
    const drainMsMax = flags['drain-s'] === undefined ? {} : { drainMsMax: secondsOf(flags['drain-s']) };
    await (toServers ? moveToJetStream : moveToLocal)({
      ...store,
      ...drainMsMax,
      servers,
      local: local.queues,
      queue,
      signal: stop.signal,
      onStep: (step) => void process.stdout.write(`${stepInWords[step]}\n`),
    });
    process.stdout.write(`${queue} is now ${toServers ? 'on the servers' : 'in the folder'}\n`);
    return exitCodes.done;
  } catch (error) {
    if (stop.signal.aborted) {
      process.stderr.write(
        'Interrupted; repeat the command to continue. Until then the queue stays stopped\n',
      );
      return exitCodes.interrupted;
    }
    if (!(error instanceof QueueError)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    if (error.code === 'INSTANCE_IN_USE')
      process.stderr.write('Its only instance runs inside that process: stop it, then repeat the command\n');
    return exitCodes.failed;
  } finally {
    process.off('SIGINT', interrupt);
    await local?.close();
  }
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (text !== '' && seconds >= 0) return seconds * 1_000;
  throw new QueueError('OPTIONS_INVALID', { message: `--drain-s is a number of seconds, not ${text}` });
}

/**
 * Instances that other processes serve are used as they are; else they are opened for the time of the move. Throws
 * `INSTANCE_IN_USE` for a folder whose only instance runs inside another process.
 */
async function openLocal(dir: string, mustExist: boolean): Promise<OpenLocal> {
  if (mustExist) assertHasQueues(dir);
  const served = existsSync(join(dir, 'catalog.db')) ? await connectIfServed(dir) : undefined;
  if (served !== undefined) return { queues: served, close: () => served.close() };
  if (readMembers(dir).length <= 1) {
    const instance = await openInstance({ dir });
    return { queues: instance, close: () => instance.close() };
  }
  const cluster = await startCluster({ dir });
  const client = connectCluster({ dir });
  return {
    queues: client,
    async close() {
      await client.close();
      await cluster.close();
    },
  };
}

async function connectIfServed(dir: string): Promise<ClusterClient | undefined> {
  const client = connectCluster({ dir });
  try {
    await client.queues();
    return client;
  } catch (error) {
    await client.close();
    if (error instanceof QueueError && error.code === 'INSTANCE_UNREACHABLE') return undefined;
    throw error;
  }
}
