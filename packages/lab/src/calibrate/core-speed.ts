/** How much slower a core is while all cores are busy: virtual cores often share one physical core. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** Copies and checksums, which is most of what sessions and writers do; counts iterations in the given time. */
const work = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { crc32 } = require('node:zlib');
  const from = Buffer.alloc(64 * 1024, 7), to = Buffer.alloc(from.length);
  const turn = () => { from.copy(to); to[0] = crc32(to) & 255; };
  for (const warmUntil = Date.now() + 20; Date.now() < warmUntil;) turn();
  parentPort.once('message', () => {
    let turns = 0;
    const until = performance.now() + workerData.ms;
    while (performance.now() < until) { turn(); turns += 1; }
    parentPort.postMessage(turns);
  });
  parentPort.postMessage('ready');
`;

async function countTurns(threads: number, ms: number): Promise<number> {
  const workers = Array.from({ length: threads }, () => new Worker(work, { eval: true, workerData: { ms } }));
  const said = (worker: Worker) => new Promise<unknown>((resolve) => worker.once('message', resolve));
  await Promise.all(workers.map(said));
  const counts = Promise.all(workers.map(said));
  for (const worker of workers) worker.postMessage('go');
  const turns = (await counts) as number[];
  await Promise.all(workers.map((worker) => worker.terminate()));
  return turns.reduce((sum, each) => sum + each, 0) / threads;
}

/** Speed of a core while all cores are busy, relative to one that is busy alone, 0 to 1; the best of several attempts. */
export async function measureBusyCoreSpeed({ ms, tries }: { ms: number; tries: number }): Promise<number> {
  let [alone, together] = [0, 0];
  for (let index = 0; index < tries; index++) {
    alone = Math.max(alone, await countTurns(1, ms));
    together = Math.max(together, await countTurns(availableParallelism(), ms));
  }
  return Math.min(1, together / alone);
}
