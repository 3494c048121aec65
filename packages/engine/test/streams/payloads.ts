/** Payloads that are generated from a number and need no memory, and counts of what a folder stores of them. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import Database from 'better-sqlite3';
import type { Session } from '../../src/index.ts';

const pieceBytes = 64 * 1024;

/** The bytes of a payload, which its number determines. */
export async function* bytesOf(seed: number, bytes: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes; from += pieceBytes) {
    const piece = Buffer.alloc(Math.min(pieceBytes, bytes - from), `${seed}.${from};`);
    yield piece;
  }
}

/** Reads to the end, and keeps only the length and a hash. */
export async function digest(stream: Readable | AsyncIterable<Uint8Array>) {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of stream as AsyncIterable<Uint8Array>) {
    hash.update(piece);
    bytes += piece.byteLength;
  }
  return { bytes, sha256: hash.digest('hex') };
}

export async function putStream(
  session: Session,
  queue: string,
  {
    seed,
    bytes,
    ...message
  }: { seed: number; bytes: number; recipients?: string[]; priority?: number; delayMs?: number },
): Promise<string> {
  await session.enqueueStream(queue, { payload: bytesOf(seed, bytes), ...message });
  const { ids } = await session.commit();
  return ids[0]!;
}

/** The number of rows in the two tables, and of pages in the file, including free ones. */
export function stored(dir: string) {
  const file = new Database(join(dir, 'instance-1.db'), { readonly: true });
  try {
    const one = (sql: string) => file.prepare(sql).pluck().get() as number;
    return {
      chunks: one('SELECT count(*) FROM payload_chunk'),
      payloads: one('SELECT count(DISTINCT payload_id) FROM payload_chunk'),
      uses: one('SELECT count(*) FROM payload_reference'),
      pages: one('PRAGMA page_count'),
      freePages: one('PRAGMA freelist_count'),
    };
  } finally {
    file.close();
  }
}
