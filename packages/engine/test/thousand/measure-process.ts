/**
 * Runs each row with few and with many, and prints which code ran more often for each of many, and how much memory each left. Both
 * are counted, not timed: they are the same on a busy machine as on a quiet one. Run as `node --expose-gc <this file>`, in a process
 * of its own since V8 counts passes of loops only in code that it compiles afterwards.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Parts, Row } from './rows.ts';

export interface Measured {
  thing: string;
  /** Blocks of code, each with how often it ran for each of few and for each of many. Empty if none ran more often. */
  grown: string[];
  /** Bytes on the heap that each left. */
  left: number;
  /** Set if the row failed. */
  failure?: string;
}

/** Passes of these files do not depend on what is done: they poll for requests while others work. */
const pollingFiles = new Set(['group-server.ts']);

const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/** How often each block of the engine's code ran while `work` did: functions, branches, and bodies of loops. */
async function countBlocks(work: () => Promise<unknown>): Promise<Map<string, number>> {
  await inspector.post('Profiler.takePreciseCoverage'); // what ran before counts no more
  await work();
  const { result } = await inspector.post('Profiler.takePreciseCoverage');
  const counts = new Map<string, number>();
  for (const { url, functions } of result) {
    const file = basename(url);
    if (!url.includes('/packages/engine/src/') || pollingFiles.has(file)) continue;
    for (const { functionName, ranges } of functions)
      for (const { count, startOffset } of ranges) {
        const block = `${file} ${functionName} at ${startOffset}`;
        counts.set(block, (counts.get(block) ?? 0) + count);
      }
  }
  return counts;
}

/** A block is said to run more often if it runs so many times as often for each, and so many times more: a scan of many does. */
const factor = 2.5;
const slack = 8;

async function findGrown(row: Row, parts: Parts): Promise<string[]> {
  const { cycle, counts: [few, many] = [100, 1_000], readsAll = false } = row;
  if (readsAll) return [];
  await cycle(few, parts); // the first of its kind opens files and compiles
  const ofFew = [await countBlocks(() => cycle(few, parts))];
  const ofMany = await countBlocks(() => cycle(many, parts));
  ofFew.push(await countBlocks(() => cycle(few, parts)));
  const grown: string[] = [];
  for (const [block, count] of ofMany) {
    // V8 loses the counts of a function when it throws the function's code away, so one of the two may be too small.
    const before = Math.max(...ofFew.map((counts) => counts.get(block) ?? 0)) / few;
    const after = count / many;
    if (before > 0 && after > factor * before + slack)
      grown.push(`${block}: ${before.toFixed(1)}, then ${after.toFixed(1)}`);
  }
  return grown;
}

/** Bytes of objects on the heap of this thread that something still refers to. */
async function liveBytes({ instance }: Parts): Promise<number> {
  await instance.checkpoint(); // what the tables do not have yet is remembered
  for (let turn = 0; turn < 2; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve)); // what was closed lets go of its objects
    globalThis.gc!();
  }
  return process.memoryUsage().heapUsed;
}

/** The least of some cycles, since the first ones compile code, which stays. */
async function bytesLeft({ cycle, counts: [, many] = [100, 1_000], leftBytesMax }: Row, parts: Parts) {
  let left = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 3 && left > leftBytesMax; tries += 1) {
    const before = await liveBytes(parts);
    await cycle(many, parts);
    left = Math.min(left, ((await liveBytes(parts)) - before) / many);
  }
  return Math.round(left);
}

const { connect, openInstance, serveInstance } = await import('../../src/index.ts');
const { limits } = await import('../../src/api/limits.ts');
const { queues, rows } = await import('./rows.ts');
const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
const instance = await openInstance({ dir, sampleIntervalMs: limits.sampleMsMax });
for (const spec of queues) await instance.createQueue(spec);
const served = await serveInstance(instance);
const client = await connect({ path: served.path });
const parts = { instance, client, served };
const measured: Measured[] = [];
for (const row of rows) {
  const { thing } = row;
  try {
    measured.push({ thing, grown: await findGrown(row, parts), left: await bytesLeft(row, parts) });
  } catch (error) {
    measured.push({ thing, grown: [], left: 0, failure: String(error) });
  }
}
await client.close();
await served.close();
await instance.close();
rmSync(dir, { recursive: true, force: true });
process.stdout.write(JSON.stringify(measured));
