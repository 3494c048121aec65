/**
 * Measures what prefetch saves a remote session that drains a backlog of an instance in another process, in pairs of drains without
 * and with prefetch. Prints for each size of a transaction the ratio of both in messages/s, in CPU time of both processes per message
 * and in requests per transaction: the median, the least and the largest.
 *
 *     node bench/prefetch.ts [pairs, default 5]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as engine from '@shardlab/engine';
import { type Placement, remote } from '../src/pairs/placement.ts';

const cases = [
  { sessions: 1, operations: 1, messages: 2_000 },
  { sessions: 16, operations: 1, messages: 10_000 },
  { sessions: 1, operations: 10, messages: 10_000 },
  { sessions: 8, operations: 10, messages: 40_000 },
  { sessions: 4, operations: 100, messages: 80_000 },
];
type Case = (typeof cases)[number];

interface Drain {
  messagesPerSec: number;
  cpuUsPerMessage: number;
  requestsPerTransaction: number;
}

const checkout = join(import.meta.dirname, '../../..');
const dir = mkdtempSync('prefetch-');
const placement = await remote(engine, { dir, kind: 'sharded', connections: 2, checkout });

async function fill(into: Placement, messages: number): Promise<void> {
  const session = into.openSession();
  for (let left = messages; left > 0; left -= 1_000) {
    for (let i = 0; i < Math.min(left, 1_000); i += 1)
      session.enqueue('q', { payload: Buffer.alloc(512, 7) });
    await session.commit();
  }
  await session.close();
}

async function drain({ sessions, operations, messages }: Case, prefetch: number): Promise<Drain> {
  await fill(placement, messages);
  const before = await placement.read();
  const startedAtMs = performance.now();
  let left = messages;
  let transactions = 0;
  let requests = 0;
  const work = async () => {
    const session = placement.openSession({ prefetch });
    while (left > 0) {
      const batch = await session.dequeue('q', { max: operations });
      await session.commit();
      left -= batch.length;
      transactions += 1;
    }
    requests += session.roundTrips ?? 0;
    await session.close();
  };
  await Promise.all(Array.from({ length: sessions }, work));
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const after = await placement.read();
  return {
    messagesPerSec: messages / seconds,
    cpuUsPerMessage: (after.cpuUs - before.cpuUs) / messages,
    requestsPerTransaction: requests / transactions,
  };
}

function ratios(pairs: readonly [plain: Drain, ahead: Drain][], figure: keyof Drain): string {
  const all = pairs.map(([plain, ahead]) => ahead[figure] / plain[figure]).toSorted((a, b) => a - b);
  return [all[all.length >> 1]!, all[0]!, all.at(-1)!].map((ratio) => ratio.toFixed(2)).join(' ');
}

for (const each of cases) {
  const prefetch = Math.max(40, 4 * each.operations);
  const pairs: [Drain, Drain][] = [];
  await drain(each, 0); // warm-up
  for (let pair = 0; pair < Number(process.argv[2] ?? 5); pair += 1) {
    const isPlainFirst = pair % 2 === 0;
    const first = await drain(each, isPlainFirst ? 0 : prefetch);
    const second = await drain(each, isPlainFirst ? prefetch : 0);
    pairs.push(isPlainFirst ? [first, second] : [second, first]);
  }
  const rate = pairs.map(([plain]) => Math.round(plain.messagesPerSec)).join(' ');
  console.log(
    `${each.sessions} × ${each.operations}: messages/s ${ratios(pairs, 'messagesPerSec')}   CPU ${ratios(pairs, 'cpuUsPerMessage')}   requests ${ratios(pairs, 'requestsPerTransaction')}   (${rate}/s without)`,
  );
}
await placement.close();
rmSync(dir, { recursive: true, force: true });
