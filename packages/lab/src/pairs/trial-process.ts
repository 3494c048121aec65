/**
 * One trial of `pairs`, in a process of its own: the engine of a checkout under load, embedded in this process or, with `connections`,
 * served by another one. `node trial-process.ts '{"sessions": 32, "operationsPerTransaction": 1}'` prints the result as JSON;
 * `node --cpu-prof trial-process.ts …` shows where the time goes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type * as Engine from '@shardlab/engine';
import { allocatedBytes } from '../meters/allocated-bytes.ts';
import type { Workload } from './cases.ts';
import { embedded, type Placement, type Reading, remote } from './placement.ts';

export interface TrialOptions extends Workload {
  /** The checkout whose engine is measured; default: this one. */
  checkout?: string;
  payloadBytes?: number;
  measureMs?: number;
  /** Default: half of `measureMs`. V8 compiles for about a second of CPU time, which a shorter warm-up would leave to the window. */
  warmUpMs?: number;
  /** Transactions of one session after the load, which are counted; default: 200. */
  countedTransactions?: number;
  /** Parent of the scratch folder. It should be on a disk, since a sync of a file in memory takes no time. */
  dataDir?: string;
}

/** Under load: these differ from run to run. */
export interface TrialRates {
  enqueuePerSec: number;
  dequeuePerSec: number;
  /** CPU time of all processes, of the session thread and of the writer, for a message that is enqueued and consumed. */
  cpuUsPerMessage: number;
  sessionCpuUsPerMessage: number;
  writerCpuUsPerMessage: number;
  /** Times of commits: median and 99th percentile. */
  commitMsP50: number;
  commitMsP99: number;
  transactionsPerGroup: number;
  /** Bytes for a message that the kernel counted as bound for a disk. */
  diskBytesPerMessage: number;
}

/**
 * What one session caused that enqueues a transaction's messages, commits, dequeues them and commits, again and again: nothing runs
 * beside it, so noise hardly moves these. A step is an enqueue or a dequeue with its commit.
 */
export interface TrialCounts {
  groupsPerStep: number;
  syncsPerStep: number;
  sleepsPerStep: number;
  /** Bytes passed to the kernel by writes. */
  writtenBytesPerMessage: number;
  /** Bytes of objects that this process's main thread made: the sessions of the engine, or of its client. */
  heapBytesPerMessage: number;
}

export interface TrialResult {
  rates: TrialRates;
  counts: TrialCounts;
}

const backlogMax = 50_000;

async function runTrial(options: TrialOptions): Promise<TrialResult> {
  const { checkout = join(import.meta.dirname, '../../../..'), kind = 'sharded', connections = 0 } = options;
  const { subscribers = 0, dataDir = '.' } = options;
  const engine = (await import(join(checkout, 'packages/engine/src/index.ts'))) as typeof Engine;
  const dir = mkdtempSync(join(dataDir, 'pairs-'));
  const placement =
    connections === 0
      ? await embedded(engine, { dir, kind, subscribers })
      : await remote(engine, { dir, kind, connections, checkout });
  try {
    const rates = await measureRates(placement, options);
    return { rates, counts: await measureCounts(placement, options) };
  } finally {
    await placement.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measureRates(placement: Placement, options: TrialOptions): Promise<TrialRates> {
  const { sessions, operationsPerTransaction: operations, enqueueOnly = false, subscribers = 0 } = options;
  const { prefetch = 0, payloadBytes = 512, measureMs = 1_000, warmUpMs = measureMs / 2 } = options;
  const body = Buffer.alloc(payloadBytes, 7);
  const sum = crc32(body);
  let stopped = false;
  let backlog = 0;
  let enqueued = 0;
  let consumed = 0;
  let commits: number[] = [];
  let full: (() => void)[] = [];
  const commit = async (session: Engine.Session) => {
    const since = performance.now();
    await session.commit();
    commits.push(performance.now() - since);
  };

  async function enqueuer(): Promise<void> {
    const session = placement.openSession();
    while (!stopped) {
      if (backlog >= backlogMax && !enqueueOnly) await new Promise<void>((wake) => full.push(wake));
      for (let i = 0; i < operations; i += 1) session.enqueue('q', { payload: Buffer.from(body) });
      await commit(session);
      enqueued += operations;
      backlog += operations;
    }
    await session.close();
  }

  /** Each delivery to a subscriber of a topic counts as one consumed message. When all has stopped it empties the queue. */
  async function dequeuer(subscriber?: string): Promise<void> {
    const session = placement.openSession({ prefetch });
    const call = { max: operations, waitMs: 100, ...(subscriber !== undefined && { subscriber }) };
    for (;;) {
      const messages = await session.dequeue('q', call);
      if (messages.length === 0 && stopped) break;
      for (const { payload } of messages) if (crc32(payload) !== sum) throw new Error('a damaged payload');
      await commit(session);
      consumed += messages.length;
      backlog -= messages.length / Math.max(1, subscribers);
      if (backlog >= backlogMax) continue;
      for (const wake of full.splice(0)) wake();
    }
    await session.close();
  }

  const all = Array.from({ length: sessions }, () =>
    enqueueOnly || subscribers > 0 ? [enqueuer()] : [enqueuer(), dequeuer()],
  ).flat();
  for (let i = 0; i < subscribers; i += 1) all.push(dequeuer(`s${i}`));
  const reading = async () => ({ ...(await placement.read()), at: performance.now(), enqueued, consumed });
  await new Promise((resume) => setTimeout(resume, warmUpMs));
  commits = [];
  const before = await reading();
  await new Promise((resume) => setTimeout(resume, measureMs));
  const after = await reading();
  const times = commits.toSorted((a, b) => a - b);
  stopped = true;
  for (const wake of full) wake();
  full = [];
  await Promise.all(all);
  const deliveries = enqueued * (enqueueOnly ? 0 : Math.max(1, subscribers));
  if (consumed !== deliveries)
    throw new Error(`${deliveries} deliveries were due, and there were ${consumed}`);

  const seconds = (after.at - before.at) / 1_000;
  const messages = enqueueOnly ? after.enqueued - before.enqueued : after.consumed - before.consumed;
  const perMessage = (of: (reading: Reading) => number) => (of(after) - of(before)) / messages;
  const groups = after.stats.groups - before.stats.groups;
  return {
    enqueuePerSec: (after.enqueued - before.enqueued) / seconds,
    dequeuePerSec: (after.consumed - before.consumed) / seconds,
    cpuUsPerMessage: perMessage(({ cpuUs }) => cpuUs),
    sessionCpuUsPerMessage: perMessage(({ stats }) => stats.cpu.sessionUs),
    writerCpuUsPerMessage: perMessage(({ stats }) => stats.cpu.writerUs),
    commitMsP50: times[Math.floor(times.length * 0.5)] ?? 0,
    commitMsP99: times[Math.floor(times.length * 0.99)] ?? 0,
    transactionsPerGroup: (after.stats.commits - before.stats.commits) / groups,
    diskBytesPerMessage: perMessage(({ diskBytes }) => diskBytes),
  };
}

async function measureCounts(placement: Placement, options: TrialOptions): Promise<TrialCounts> {
  const { operationsPerTransaction: operations, subscribers = 0, enqueueOnly = false } = options;
  const { payloadBytes = 512, countedTransactions = 200 } = options;
  const body = Buffer.alloc(payloadBytes, 7);
  const session = placement.openSession();
  const names =
    subscribers > 0 ? Array.from({ length: subscribers }, (_, index) => `s${index}`) : [undefined];
  const step = async () => {
    for (let i = 0; i < operations; i += 1) session.enqueue('q', { payload: Buffer.from(body) });
    await session.commit();
    for (const subscriber of enqueueOnly ? [] : names) {
      await session.dequeue('q', { max: operations, ...(subscriber !== undefined && { subscriber }) });
      await session.commit();
    }
  };
  for (let i = 0; i < countedTransactions / 4; i += 1) await step();
  const before = { ...(await placement.read()), heapBytes: allocatedBytes()! };
  for (let i = 0; i < countedTransactions; i += 1) await step();
  const heapBytes = allocatedBytes()! - before.heapBytes;
  const after = await placement.read();
  await session.close();
  const steps = countedTransactions * (1 + (enqueueOnly ? 0 : names.length));
  const messages = countedTransactions * operations;
  return {
    groupsPerStep: (after.stats.groups - before.stats.groups) / steps,
    syncsPerStep: (after.stats.syncs - before.stats.syncs) / steps,
    sleepsPerStep: (after.sleeps - before.sleeps) / steps,
    writtenBytesPerMessage: (after.writtenBytes - before.writtenBytes) / messages,
    heapBytesPerMessage: heapBytes / messages,
  };
}

if (import.meta.main) {
  const result = await runTrial(JSON.parse(process.argv[2] ?? '{}') as TrialOptions);
  console.log(
    JSON.stringify(result, (_, value) => (typeof value === 'number' ? Number(value.toPrecision(5)) : value)),
  );
}
