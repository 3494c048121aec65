/**
 * One short run of the engine under load, embedded in this process or, with `connections`, served by another one:
 * `node trial.ts '{"sessions": 32}'` prints its rates as JSON. `compare.ts` runs it against two checkouts in turn;
 * `node --cpu-prof trial.ts …` shows where the time goes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type * as Engine from '../src/index.ts';
import { embedded, remote } from './placement.ts';

export interface TrialOptions {
  /** The checkout whose engine is measured; default: this one. */
  checkout?: string;
  kind?: Engine.QueueKind;
  /** The number of enqueuers, and of dequeuers unless `enqueueOnly`. */
  sessions?: number;
  operationsPerTransaction?: number;
  enqueueOnly?: boolean;
  /** Subscribers of a topic, each with one dequeuing session; 0, the default, for a queue. */
  subscribers?: number;
  /** Connections to a process that serves the instance; 0, the default, embeds it in this one. */
  connections?: number;
  /** Messages that are prefetched for remote dequeuers; default: 0. */
  prefetch?: number;
  payloadBytes?: number;
  measureMs?: number;
  /** Default: half of `measureMs`. V8 compiles for about a second of CPU time, which a shorter warm-up would leave to the window. */
  warmUpMs?: number;
  /** Parent of the scratch folder. It should be on a disk, since a sync of a file in memory takes no time. */
  dataDir?: string;
}

export interface TrialResult {
  enqueuePerSec: number;
  dequeuePerSec: number;
  transactionsPerGroup: number;
  groupsPerSec: number;
  /** CPU time of all processes, and the writer thread's part of it, for a message that is enqueued and consumed. */
  cpuUsPerMessage: number;
  writerCpuUsPerMessage: number;
  /** Times of commits in milliseconds: median, 99th percentile and longest. */
  commitMs: { p50: number; p99: number; max: number };
}

const backlogMax = 50_000;

async function runTrial({
  checkout = join(import.meta.dirname, '../../..'),
  kind = 'sharded',
  sessions = 32,
  operationsPerTransaction: operations = 1,
  enqueueOnly = false,
  subscribers = 0,
  connections = 0,
  prefetch = 0,
  payloadBytes = 512,
  measureMs = 1_000,
  warmUpMs = measureMs / 2,
  dataDir = '.',
}: TrialOptions): Promise<TrialResult> {
  const engine = (await import(join(checkout, 'packages/engine/src/index.ts'))) as typeof Engine;
  const dir = mkdtempSync(join(dataDir, 'trial-'));
  const placement =
    connections === 0
      ? await embedded(engine, { dir, kind, subscribers })
      : await remote(engine, { dir, kind, connections, checkout });
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

  /** Each delivery to a subscriber of a topic counts as one consumed message. */
  async function dequeuer(subscriber?: string): Promise<void> {
    const session = placement.openSession({ prefetch });
    const options = { max: operations, waitMs: 100, ...(subscriber !== undefined && { subscriber }) };
    while (!stopped) {
      const messages = await session.dequeue('q', options);
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
  await placement.close();
  rmSync(dir, { recursive: true, force: true });

  const seconds = (after.at - before.at) / 1_000;
  const messages = enqueueOnly ? after.enqueued - before.enqueued : after.consumed - before.consumed;
  const groups = after.stats.groups - before.stats.groups;
  return {
    enqueuePerSec: (after.enqueued - before.enqueued) / seconds,
    dequeuePerSec: (after.consumed - before.consumed) / seconds,
    transactionsPerGroup: (after.stats.commits - before.stats.commits) / groups,
    groupsPerSec: groups / seconds,
    cpuUsPerMessage: (after.cpuUs - before.cpuUs) / messages,
    writerCpuUsPerMessage: (after.stats.cpu.writerUs - before.stats.cpu.writerUs) / messages,
    commitMs: {
      p50: times[Math.floor(times.length * 0.5)] ?? 0,
      p99: times[Math.floor(times.length * 0.99)] ?? 0,
      max: times.at(-1) ?? 0,
    },
  };
}

if (import.meta.main) {
  const result = await runTrial(JSON.parse(process.argv[2] ?? '{}') as TrialOptions);
  console.log(
    JSON.stringify(result, (_, value) => (typeof value === 'number' ? Number(value.toPrecision(4)) : value)),
  );
}
