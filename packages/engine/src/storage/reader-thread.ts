/**
 * The reader thread of an instance: bulk reads of a backlog, each a short snapshot of its own, so that a checkpoint is
 * never kept waiting by a reader. Started at the first read by `instance/storage-threads.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { ReadReply, ReadRequest } from './group-message.ts';
import { readBlocks } from './partition-table.ts';
import { openSqlite } from './sqlite.ts';
import { toFailure } from './storage-failure.ts';

const { path } = workerData as { path: string };
const port = parentPort!;
const file = openSqlite({ path, readonly: true, busyMs: 1_000 });

port.on('message', (request: ReadRequest | 'close') => {
  if (request === 'close') {
    file.close();
    port.close();
    return;
  }
  let reply: ReadReply;
  try {
    reply = { id: request.id, blocks: readBlocks(file, request), failure: null };
  } catch (error) {
    reply = { id: request.id, blocks: [], failure: toFailure(error, path) };
  }
  port.postMessage(
    reply,
    reply.blocks.map((block) => block.body.buffer as ArrayBuffer),
  );
});
