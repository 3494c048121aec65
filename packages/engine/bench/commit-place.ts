/**
 * Compares commits of groups on the writer thread and on the session thread under the same load of remote sessions. The place changes
 * after every slice of time, so that both are measured under the same conditions:
 *
 *     node bench/commit-place.ts CASE [seconds, default 30] [parent of the scratch folder, default .]
 *
 * Prints for each figure its median and quartiles at both places, and those of the ratio of adjacent slices. Units are milliseconds,
 * microseconds of CPU time of both processes, and messages per second.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Session } from '../src/index.ts';
import type { CommitPlace } from '../src/storage/threads/commit-place.ts';
import type { PlacedHostReading } from './placed-host.ts';

interface Case {
  sessions: number;
  operations: number;
  connections: number;
  /** Adds as many sessions that dequeue. */
  dequeue?: boolean;
}

const cases: Record<string, Case> = {
  enqueue1x1: { sessions: 1, operations: 1, connections: 1 },
  enqueue32x1: { sessions: 32, operations: 1, connections: 1 },
  enqueue16x10: { sessions: 16, operations: 10, connections: 1 },
  dequeue8x10: { sessions: 8, operations: 10, connections: 2, dequeue: true },
};

const sliceMs = 300;
const backlogMax = 20_000;
const body = Buffer.alloc(512, 7);

interface Slice {
  perSec: number;
  cpuUs: number;
  hostCpuUs: number;
  writeMs: number;
  commitMsP50: number;
  commitMsP99: number;
}

const pause = (ms: number) => new Promise((resume) => setTimeout(resume, ms));
const totalUs = ({ user, system }: NodeJS.CpuUsage) => user + system;

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function ask(host: ChildProcess, order: CommitPlace | 'read'): Promise<PlacedHostReading> {
  host.send(order);
  return ((await once(host, 'message')) as [PlacedHostReading])[0];
}

async function measure(
  { sessions, operations, connections, dequeue = false }: Case,
  { seconds, dir }: { seconds: number; dir: string },
): Promise<Record<CommitPlace, Slice[]>> {
  const host = fork(join(import.meta.dirname, 'placed-host.ts'), [dir]);
  await once(host, 'message');
  const clients = await Promise.all(Array.from({ length: connections }, () => connect({ dir })));
  let stopped = false;
  let enqueued = 0;
  let consumed = 0;
  let commitMs: number[] = [];
  const commit = async (session: Session) => {
    const since = performance.now();
    await session.commit();
    commitMs.push(performance.now() - since);
  };
  const enqueuer = async (session: Session) => {
    while (!stopped) {
      if (dequeue && enqueued - consumed > backlogMax) {
        await pause(1);
        continue;
      }
      for (let i = 0; i < operations; i += 1) session.enqueue('q', { payload: Buffer.from(body) });
      await commit(session);
      enqueued += operations;
    }
  };
  const dequeuer = async (session: Session) => {
    while (!stopped) {
      const messages = await session.dequeue('q', { max: operations, waitMs: 100 });
      await commit(session);
      consumed += messages.length;
    }
  };
  const all = Array.from({ length: sessions }, (_, index) => {
    const client = clients[index % connections]!;
    return dequeue
      ? [enqueuer(client.openSession()), dequeuer(client.openSession())]
      : [enqueuer(client.openSession())];
  }).flat();

  const slices: Record<CommitPlace, Slice[]> = { 'writer thread': [], 'session thread': [] };
  await pause(1_500);
  for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
    const [first, second] = slices['writer thread'].length % 2 === 0 ? places : places.toReversed();
    for (const place of [first!, second!]) {
      await ask(host, place);
      await pause(60);
      commitMs = [];
      const reading = async () => ({
        ...(await ask(host, 'read')),
        ownCpuUs: totalUs(process.cpuUsage()),
        messages: dequeue ? consumed : enqueued,
        at: performance.now(),
      });
      const before = await reading();
      await pause(sliceMs);
      const after = await reading();
      const messages = after.messages - before.messages;
      const hostCpuUs = after.cpuUs - before.cpuUs;
      slices[place].push({
        perSec: (messages / (after.at - before.at)) * 1_000,
        cpuUs: (hostCpuUs + after.ownCpuUs - before.ownCpuUs) / messages,
        hostCpuUs: hostCpuUs / messages,
        writeMs: (after.writeMs - before.writeMs) / (after.writes - before.writes),
        commitMsP50: quantile(commitMs, 0.5),
        commitMsP99: quantile(commitMs, 0.99),
      });
    }
  }
  stopped = true;
  await Promise.all(all);
  await Promise.all(clients.map((client) => client.close()));
  host.send('close');
  await once(host, 'exit');
  return slices;
}

const places: readonly CommitPlace[] = ['writer thread', 'session thread'];

const [name = '', seconds = '30', parent = '.'] = process.argv.slice(2);
const chosen = cases[name];
if (chosen === undefined)
  throw new Error(`usage: commit-place.ts ${Object.keys(cases).join('|')} [SECONDS] [FOLDER]`);
const dir = mkdtempSync(join(parent, 'commit-place-'));
const slices = await measure(chosen, { seconds: Number(seconds), dir });
rmSync(dir, { recursive: true });
const shown = (values: readonly number[]) =>
  [0.5, 0.25, 0.75].map((share) => Number(quantile(values, share).toPrecision(3))).join(' ');
console.log(`${name}, ${slices['writer thread'].length} slices each: median, lower and upper quartile`);
for (const figure of ['perSec', 'cpuUs', 'hostCpuUs', 'writeMs', 'commitMsP50', 'commitMsP99'] as const) {
  const [thread, session] = places.map((place) => slices[place].map((slice) => slice[figure]));
  const ratios = session!.map((value, index) => value / thread![index]!);
  console.log(
    `${figure.padEnd(12)} writer thread ${shown(thread!).padEnd(22)} session thread ${shown(session!).padEnd(22)} ratio ${shown(ratios)}`,
  );
}
