/**
 * The reader thread of an instance: bulk reads of a backlog, each in a short snapshot of its own, so that no reader
 * delays a checkpoint. Started for `reader-thread-client.ts` at the first read. When the file is closed, the thread waits for the
 * next one.
 */
import { parentPort } from 'node:worker_threads';
import type { ReadReply, ReadRequest } from '../../model/read-request.ts';
import { searchCorrelatedBlocks } from '../instance-file/tables/correlation-index.ts';
import { readDelayedOfQueue, readDueMessages } from '../instance-file/tables/delayed-table.ts';
import { readEvacuatedOfSubscriber } from '../instance-file/tables/evacuated-table.ts';
import { readIdempotencyKey } from '../instance-file/tables/idempotency-key-table.ts';
import { readChunk } from '../instance-file/tables/payload-table.ts';
import { readBlocks } from '../instance-file/tables/read-partition.ts';
import { openSqlite, type SqliteFile } from '../sqlite/open-sqlite.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';
import type { FileThreadRequest } from './file-threads.ts';

const port = parentPort!;
let file: SqliteFile | undefined;

port.on('message', (request: FileThreadRequest<{ path: string }> | ReadRequest | { kind: 'close' }) => {
  switch (request.kind) {
    case 'open':
      file = openSqlite({ path: request.file.path, readonly: true, busyMs: 1_000 });
      break;
    case 'close':
      file!.close();
      file = undefined;
      port.postMessage('closed');
      break;
    case 'end':
      port.close();
      break;
    default:
      answer(request, file!);
  }
});

function answer(request: ReadRequest, file: SqliteFile): void {
  try {
    sendResult(request, file);
  } catch (error) {
    const failure = toStorageFailure(error, file.name);
    port.postMessage({ id: request.id, result: null, failure } satisfies ReadReply);
  }
}

function sendResult(request: ReadRequest, file: SqliteFile): void {
  const { id } = request;
  const { result, bytes } = executeRead(request, file);
  const buffers = bytes.map(({ buffer }) => buffer as ArrayBuffer);
  port.postMessage({ id, result, failure: null } satisfies ReadReply, buffers);
}

/** The result, and the byte arrays in it, which are transferred instead of copied. */
function executeRead(
  request: ReadRequest,
  file: SqliteFile,
): {
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
