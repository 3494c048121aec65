/**
 * Small workloads that take the engine's work apart: messages only in or only out, few or many to a transaction, one or
 * many transactions to a group commit. None is a point of a figure: those have both directions at once.
 */
import type { Instance, Session } from '@shardlab/engine';
import { median } from '@shardlab/model';
import { readSample, type Sample, sampleBetween } from './sample.ts';

export interface MicroWorkload {
  queue: string;
  direction: 'in' | 'out';
  /** Their transactions commit in step, so that each round is one group commit of all. */
  sessions: number;
  operationsPerTransaction: number;
  /** A call for each message out, instead of one for all. */
  oneByOne?: boolean;
}

export interface MicroResult extends Sample {
  /** Medians over the rounds: all operations, the wait for the commit, and what of both was not this thread's CPU. */
  operationsUs: number;
  commitUs: number;
  beyondCpuUs: number;
  /** Of the middle half of the commits, scaled to the whole: single stalls must not decide it. */
  commitVariation: number;
}

export interface MicroOptions {
  instance: Instance;
  payloadBytes: number;
  /** How long the measured part takes. */
  ms: number;
}

/** What waits for a dequeuing workload; it ends when they are gone. */
const preloadMessages = 24_000;
const preloadBatch = 2_000;
/** The warm-up must leave most of what was preloaded. */
const warmRoundsMax = 8;
/** However slow the machine is, a median needs a few. */
const roundsMin = 5;

/** Runs one workload for its time, after a short warm-up. Leaves the queue empty. */
export async function runMicroWorkload(work: MicroWorkload, options: MicroOptions): Promise<MicroResult> {
  const { instance, payloadBytes, ms } = options;
  const payload = Buffer.alloc(payloadBytes, 0x5a);
  const sessions = Array.from({ length: work.sessions }, () => instance.openSession());
  if (work.direction === 'out') await preload(instance, work.queue, payload);
  const rounds: Round[] = [];
  const warmUntil = performance.now() + ms / 4;
  let more = true;
  while (more && rounds.length < warmRoundsMax && performance.now() < warmUntil)
    more = await round(work, sessions, payload, rounds);
  rounds.length = 0;
  const before = readSample(instance);
  const until = performance.now() + ms;
  while (more && (rounds.length < roundsMin || performance.now() < until))
    more = await round(work, sessions, payload, rounds);
  const sample = sampleBetween(before, readSample(instance));
  for (const session of sessions) await session.close();
  await drain(instance, work.queue);
  return {
    ...sample,
    operationsUs: median(rounds.map((each) => each.operationsUs)),
    commitUs: median(rounds.map((each) => each.commitUs)),
    beyondCpuUs: median(rounds.map((each) => each.operationsUs + each.commitUs - each.cpuUs)),
    commitVariation: variationOf(rounds.map((each) => each.commitUs)),
  };
}

/** From the quartiles, which lie 1.1 means apart in an exponential distribution, whose variation is 1. */
function variationOf(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  const mean = times.reduce((sum, time) => sum + time, 0) / Math.max(1, times.length);
  return mean === 0 ? 0 : (at(0.75) - at(0.25)) / (1.1 * mean);
}

interface Round {
  operationsUs: number;
  commitUs: number;
  cpuUs: number;
}

/** One transaction of every session; false once there was not enough left for all. */
async function round(
  work: MicroWorkload,
  sessions: readonly Session[],
  payload: Buffer,
  rounds: Round[],
): Promise<boolean> {
  const cpu = process.threadCpuUsage();
  const startedAt = performance.now();
  let full = true;
  for (const session of sessions) {
    if (work.direction === 'in') {
      for (let operation = 0; operation < work.operationsPerTransaction; operation++)
        session.enqueue(work.queue, { payload });
    } else full = (await takeMessages(work, session)) && full;
  }
  const committingAt = performance.now();
  await Promise.all(sessions.map((session) => session.commit()));
  const endedAt = performance.now();
  const { user, system } = process.threadCpuUsage(cpu);
  rounds.push({
    operationsUs: (committingAt - startedAt) * 1000,
    commitUs: (endedAt - committingAt) * 1000,
    cpuUs: user + system,
  });
  return full;
}

async function takeMessages(work: MicroWorkload, session: Session): Promise<boolean> {
  const { queue, operationsPerTransaction, oneByOne } = work;
  let taken = 0;
  while (taken < operationsPerTransaction) {
    const max = oneByOne ? 1 : operationsPerTransaction - taken;
    const messages = await session.dequeue(queue, { max });
    if (messages.length === 0) return false;
    taken += messages.length;
  }
  return true;
}

async function preload(instance: Instance, queue: string, payload: Buffer): Promise<void> {
  const session = instance.openSession();
  for (let message = 0; message < preloadMessages; message += preloadBatch) {
    for (let each = 0; each < preloadBatch; each++) session.enqueue(queue, { payload });
    await session.commit();
  }
  await session.close();
}

async function drain(instance: Instance, queue: string): Promise<void> {
  const session = instance.openSession();
  while ((await session.dequeue(queue, { max: preloadBatch })).length > 0) await session.commit();
  await session.close();
}
