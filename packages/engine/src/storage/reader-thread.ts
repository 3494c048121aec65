/**
 * The reader thread of an instance: bulk reads of a backlog, each a short snapshot of its own, so that a checkpoint is
 * never kept waiting by a reader. Started at the first read by `instance/storage-threads.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { searchBlocks } from './correlation-index.ts';
import { readDelayedOf, readDue } from './delayed-table.ts';
import type { ReadReply, ReadRequest } from './group-message.ts';
import { readBlocks } from './partition-table.ts';
import { readChunk } from './payload-table.ts';
import { openSqlite } from './sqlite.ts';
import { toFailure } from './storage-failure.ts';
import { readStragglersOf } from './straggler-table.ts';

const { path } = workerData as { path: string };
const port = parentPort!;
const file = openSqlite({ path, readonly: true, busyMs: 1_000 });

port.on('message', (request: ReadRequest | 'close') => {
  if (request === 'close') {
    file.close();
    port.close();
    return;
  }
  try {
    answer(request);
  } catch (error) {
    port.postMessage({ id: request.id, result: null, failure: toFailure(error, path) } satisfies ReadReply);
  }
});

function answer(request: ReadRequest): void {
  const { id } = request;
  const { result, bytes } = read(request);
  const buffers = bytes.map(({ buffer }) => buffer as ArrayBuffer);
  port.postMessage({ id, result, failure: null } satisfies ReadReply, buffers);
}

/** And the bytes in it, which need not be copied. */
function read(request: ReadRequest): { result: NonNullable<ReadReply['result']>; bytes: Uint8Array[] } {
  if (request.kind === 'due') {
    const result = readDue(file, request);
    return { result, bytes: result.rows.map(({ record }) => record) };
  }
  if (request.kind === 'stragglers') {
    const result = readStragglersOf(file, request);
    return { result, bytes: result.map(({ record }) => record) };
  }
  if (request.kind === 'delayed') {
    const result = readDelayedOf(file, request);
    return { result, bytes: result.rows.map(({ record }) => record) };
  }
  if (request.kind === 'chunk') {
    const body = readChunk(file, request);
    return { result: { body }, bytes: body === undefined ? [] : [body] };
  }
  const result = request.kind === 'search' ? searchBlocks(file, request) : readBlocks(file, request);
  return { result, bytes: result.blocks.map(({ body }) => body) };
}
