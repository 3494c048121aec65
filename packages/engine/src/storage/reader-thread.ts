/**
 * The reader thread of an instance: bulk reads of a backlog, each a short snapshot of its own, so that a checkpoint is
 * never kept waiting by a reader. Started at the first read by `instance/storage-threads.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { ReadBlock, ReadReply, ReadRequest } from './group-message.ts';
import { partitionTable } from './instance-file.ts';
import { openSqlite } from './sqlite.ts';
import { toFailure } from './storage-failure.ts';

const { path } = workerData as { path: string };
const port = parentPort!;
const file = openSqlite({ path, readonly: true, busyMs: 1_000 });

/**
 * Rows of one partition in order, from the one that `fromSeq` lies in. Relies on the table's key; a row's end is not
 * indexed, so the first row is found as the last one that starts at or before `fromSeq`.
 */
function readBlocks({ partition, fromSeq, bytesMax }: ReadRequest): ReadBlock[] {
  const table = partitionTable(partition);
  const rows = file
    .prepare(
      `SELECT seq AS firstSeq, count, body FROM ${table}
       WHERE seq >= coalesce((SELECT max(seq) FROM ${table} WHERE seq <= ?), 0) ORDER BY seq`,
    )
    .iterate(fromSeq) as IterableIterator<ReadBlock>;
  const blocks: ReadBlock[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (row.firstSeq + row.count <= fromSeq) continue;
    blocks.push(row);
    bytes += row.body.byteLength;
    if (bytes >= bytesMax) break;
  }
  return blocks;
}

port.on('message', (request: ReadRequest | 'close') => {
  if (request === 'close') {
    file.close();
    port.close();
    return;
  }
  let reply: ReadReply;
  try {
    reply = { id: request.id, blocks: readBlocks(request), failure: null };
  } catch (error) {
    reply = { id: request.id, blocks: [], failure: toFailure(error, path) };
  }
  port.postMessage(
    reply,
    reply.blocks.map((block) => block.body.buffer as ArrayBuffer),
  );
});
