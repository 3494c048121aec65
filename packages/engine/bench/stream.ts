/**
 * Streams one payload into an instance and out of it, and measures how much slower another session commits meanwhile:
 *
 *     node bench/stream.ts [MiB, default 1024] [folder]
 *
 * Prints rates, the largest memory of the process, and the commits of the other session with and without the stream.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Instance, openInstance } from '../src/index.ts';

const MiB = 1024 * 1024;
const bytes = Number(process.argv[2] ?? 1024) * MiB;
const dir = mkdtempSync(join(process.argv[3] ?? tmpdir(), 'shardlab-stream-'));

async function* source(): AsyncGenerator<Buffer> {
  const piece = Buffer.alloc(64 * 1024, 'x');
  for (let from = 0; from < bytes; from += piece.length) yield piece;
}

const peakMiB = () => Math.round(process.resourceUsage().maxRSS / 1024);
const rate = (ms: number) => `${(bytes / MiB / (ms / 1000)).toFixed(0)} MiB/s`;

/** Commits one message after the other in another session while `work` continues; returns how long the work took. */
async function besideNeighbour(
  instance: Instance,
  label: string,
  work: () => Promise<void>,
): Promise<number> {
  const session = instance.openSession();
  const waits: number[] = [];
  let working = true;
  const startedAt = performance.now();
  const worked = work().then(() => {
    working = false;
    return performance.now() - startedAt;
  });
  while (working) {
    const since = performance.now();
    session.enqueue('small', { payload: 'x'.repeat(512) });
    await session.commit();
    waits.push(performance.now() - since);
  }
  waits.sort((a, b) => a - b);
  const at = (share: number) => (waits[Math.floor((waits.length - 1) * share)] ?? 0).toFixed(2);
  console.log(
    `  neighbour, ${label}: ${waits.length} commits, ms p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)}`,
  );
  return worked;
}

const instance = await openInstance({ dir });
try {
  for (const name of ['files', 'small']) await instance.createQueue({ name });
  const session = instance.openSession();
  const idle = () => new Promise<void>((resolve) => setTimeout(resolve, 2_000));
  await besideNeighbour(instance, 'nothing else', idle);
  const before = peakMiB();
  const inMs = await besideNeighbour(instance, 'stream in', async () => {
    await session.enqueueStream('files', { payload: source(), bytes });
    await session.commit();
  });
  console.log(`in ${rate(inMs)}, peak memory ${before} → ${peakMiB()} MiB`);
  const outMs = await besideNeighbour(instance, 'stream out', async () => {
    const [message] = await session.dequeue('files');
    let read = 0;
    for await (const piece of message!.payloadStream()) read += piece.length;
    if (read !== bytes) throw new Error(`${read} bytes came out`);
    await session.commit();
  });
  console.log(`out ${rate(outMs)}, peak memory ${peakMiB()} MiB`);
  await besideNeighbour(instance, 'chunks being deleted', idle);
} finally {
  await instance.close();
  rmSync(dir, { recursive: true, force: true });
}
