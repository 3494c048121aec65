/**
 * Small workloads that isolate the costs of the engine: only enqueue or only dequeue, few or many messages per
 * transaction, one or many transactions per group commit. None is a point of a figure: figures always have both directions.
 */
import { commitWriteMs, type Instance, type Session } from '@shardlab/engine';
import { median } from '@shardlab/model';
import { threadCpuUs } from '../meters/thread-cpu.ts';
import { readSample, type Sample, sampleBetween } from './sample.ts';

export interface MicroWorkload {
  queue: string;
  direction: 'in' | 'out';
  /** Number of sessions. They commit at the same time, so that each round is one group commit. */
  sessions: number;
  operationsPerTransaction: number;
  /** Of a topic from which the sessions dequeue: they have them in turns. */
  subscribers?: readonly string[];
  /** One dequeue call per message, instead of one call for all. */
  oneMessagePerCall?: boolean;
}

export interface MicroResult extends Sample {
  /** Medians over the rounds: all operations, the wait for the commit, and the part of it in which the writer wrote and synced. */
  operationsUs: number;
  commitUs: number;
  writeUs: number;
  /**
   * CPU time of this thread for a round, mean, without the write and the sync, which run on this thread while they are short: so a
   * round counts as no more than its time without the write.
   */
  ownUs: number;
  /** The median of what is left of a round: neither CPU of this thread nor the write. */
  wakingUs: number;
  /** Estimated from the middle half of the commits, so that single stalls do not decide it. */
  commitVariation: number;
}

export interface MicroOptions {
  instance: Instance;
  payloadBytes: number;
  /** Duration of the measured part, milliseconds. */
  ms: number;
}

/** How the workloads of a queue are measured. */
export interface SliceOptions extends Omit<MicroOptions, 'instance'> {
  /** Slices of each workload. */
  rounds: number;
  /** Called after each workload with the share of them that is done, 0 to 1. */
  onDone?: (share: number) => void;
}

/** Preloaded for each millisecond of a dequeuing workload, which ends when all are consumed: more than it can dequeue in that time. */
const preloadedPerMs = 300;
const preloadBatch = 2_000;
/** The warm-up may consume only a small part of the preloaded messages. */
const warmRoundsMax = 8;
/** A median needs a few rounds, however slow the machine is. */
const roundsMin = 5;

/** Runs one workload for its duration, after a short warm-up. Leaves the queue empty. */
export async function runMicroWorkload(work: MicroWorkload, options: MicroOptions): Promise<MicroResult> {
  const { instance, payloadBytes, ms } = options;
  const payload = Buffer.alloc(payloadBytes, 0x5a);
  const { subscribers } = work;
  const sessions = Array.from({ length: work.sessions }, () => instance.openSession());
  if (work.direction === 'out') {
    const roundsMessages = (warmRoundsMax + roundsMin) * work.sessions * work.operationsPerTransaction;
    const messages = Math.max(preloadedPerMs * ms, roundsMessages);
    await preload({
      instance,
      queue: work.queue,
      payload,
      messages: Math.ceil(messages / (subscribers?.length ?? 1)),
    });
  }
  const rounds: Round[] = [];
  const warmUntil = performance.now() + ms / 4;
  let more = true;
  while (more && rounds.length < warmRoundsMax && performance.now() < warmUntil)
    more = await runRound(work, { sessions, payload, instance }, rounds);
  rounds.length = 0;
  const before = readSample(instance);
  const until = performance.now() + ms;
  while (more && (rounds.length < roundsMin || performance.now() < until))
    more = await runRound(work, { sessions, payload, instance }, rounds);
  const sample = sampleBetween(before, readSample(instance));
  for (const session of sessions) await session.close();
  for (const subscriber of subscribers ?? [undefined]) await drain(instance, work.queue, subscriber);
  return {
    ...sample,
    operationsUs: median(rounds.map((each) => each.operationsUs)),
    commitUs: median(rounds.map((each) => each.commitUs)),
    writeUs: median(rounds.map((each) => each.writeUs)),
    ownUs: rounds.reduce((sum, each) => sum + ownUsOf(each), 0) / rounds.length,
    wakingUs: median(rounds.map((each) => besidesWriteUs(each) - ownUsOf(each))),
    commitVariation: variationOf(rounds.map((each) => each.commitUs)),
  };
}

/** Estimated from the quartiles, whose distance is 1.1 means in an exponential distribution (variation 1). */
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
  writeUs: number;
}

/** Total of all sessions: each has the time of its group's write. */
const commitWriteMsOf = (instance: Instance) => instance.waits.counters()[commitWriteMs.name]!;
const besidesWriteUs = ({ operationsUs, commitUs, writeUs }: Round) =>
  Math.max(0, operationsUs + commitUs - writeUs);
const ownUsOf = (round: Round) => Math.min(round.cpuUs, besidesWriteUs(round));

/** Runs one transaction of every session; returns false once there are not enough messages for all. */
async function runRound(
  work: MicroWorkload,
  { sessions, payload, instance }: { sessions: readonly Session[]; payload: Buffer; instance: Instance },
  rounds: Round[],
): Promise<boolean> {
  const writtenMs = commitWriteMsOf(instance);
  const cpuBefore = threadCpuUs();
  const startedAt = performance.now();
  let full = true;
  for (const [index, session] of sessions.entries()) {
    if (work.direction === 'in') {
      for (let operation = 0; operation < work.operationsPerTransaction; operation++)
        session.enqueue(work.queue, { payload });
    } else full = (await dequeueMessages(work, session, index)) && full;
  }
  const committingAt = performance.now();
  await Promise.all(sessions.map((session) => session.commit()));
  const endedAt = performance.now();
  const cpuUs = threadCpuUs() - cpuBefore;
  rounds.push({
    operationsUs: (committingAt - startedAt) * 1000,
    commitUs: (endedAt - committingAt) * 1000,
    cpuUs,
    writeUs: ((commitWriteMsOf(instance) - writtenMs) * 1000) / sessions.length,
  });
  return full;
}

async function dequeueMessages(work: MicroWorkload, session: Session, index: number): Promise<boolean> {
  const { queue, operationsPerTransaction, oneMessagePerCall, subscribers } = work;
  const subscriber = subscribers?.[index % subscribers.length];
  let taken = 0;
  while (taken < operationsPerTransaction) {
    const max = oneMessagePerCall ? 1 : operationsPerTransaction - taken;
    const messages = await session.dequeue(queue, { max, ...ofSubscriber(subscriber) });
    if (messages.length === 0) return false;
    taken += messages.length;
  }
  return true;
}

interface Preload {
  instance: Instance;
  queue: string;
  payload: Buffer;
  messages: number;
}

async function preload({ instance, queue, payload, messages }: Preload): Promise<void> {
  const session = instance.openSession();
  for (let enqueued = 0; enqueued < messages; ) {
    const batchEnd = Math.min(enqueued + preloadBatch, messages);
    for (; enqueued < batchEnd; enqueued++) session.enqueue(queue, { payload });
    await session.commit();
  }
  await session.close();
}

const ofSubscriber = (subscriber: string | undefined) => (subscriber === undefined ? {} : { subscriber });

async function drain(instance: Instance, queue: string, subscriber: string | undefined): Promise<void> {
  const session = instance.openSession();
  while ((await session.dequeue(queue, { max: preloadBatch, ...ofSubscriber(subscriber) })).length > 0)
    await session.commit();
  await session.close();
}
