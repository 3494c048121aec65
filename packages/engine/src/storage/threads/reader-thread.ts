/**
 * The reader thread of an instance: bulk reads of a backlog, each in a short snapshot of its own, so that no reader
 * delays a checkpoint. Started by `reader-thread-client.ts` at the first read.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { ReadReply, ReadRequest } from '../../model/read-request.ts';
import { searchCorrelatedBlocks } from '../instance-file/tables/correlation-index.ts';
import { readDelayedOfQueue, readDueMessages } from '../instance-file/tables/delayed-table.ts';
import { readEvacuatedOfSubscriber } from '../instance-file/tables/evacuated-table.ts';
import { readIdempotencyKey } from '../instance-file/tables/idempotency-key-table.ts';
import { readChunk } from '../instance-file/tables/payload-table.ts';
import { readBlocks } from '../instance-file/tables/read-partition.ts';
import { openSqlite } from '../sqlite/open-sqlite.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';

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
    answerRequest(request);
  } catch (error) {
    port.postMessage({
      id: request.id,
      result: null,
      failure: toStorageFailure(error, path),
    } satisfies ReadReply);
  }
});

function answerRequest(request: ReadRequest): void {
  const { id } = request;
  const { result, bytes } = executeRead(request);
  const buffers = bytes.map(({ buffer }) => buffer as ArrayBuffer);
  port.postMessage({ id, result, failure: null } satisfies ReadReply, buffers);
}

/** The result, and the byte arrays in it, which are transferred instead of copied. */
function executeRead(request: ReadRequest): {
  result: NonNullable<ReadReply['result']>;
  bytes: Uint8Array[];
} {
  if (request.kind === 'due') {
    const result = readDueMessages(file, request);
    return { result, bytes: result.rows.map(({ record }) => record) };
  }
  if (request.kind === 'evacuated') {
    const result = readEvacuatedOfSubscriber(file, request);
    return { result, bytes: result.map(({ record }) => record) };
  }
  if (request.kind === 'delayed') {
    const result = readDelayedOfQueue(file, request);
    return { result, bytes: result.rows.map(({ record }) => record) };
  }
  if (request.kind === 'chunk') {
    const body = readChunk(file, request);
    return { result: { body }, bytes: body === undefined ? [] : [body] };
  }
  if (request.kind === 'idempotency key')
    return { result: { row: readIdempotencyKey(file, request.key) }, bytes: [] };
  const result =
    request.kind === 'search' ? searchCorrelatedBlocks(file, request) : readBlocks(file, request);
  return { result, bytes: result.blocks.map(({ body }) => body) };
}
