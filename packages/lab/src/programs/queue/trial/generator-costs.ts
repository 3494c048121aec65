/** Measures the costs of the load generator: the enqueuer and dequeuer of a trial, run on an instance that does nothing. */

import { PayloadCodec } from '../../../integrity/payload.ts';
import { createMonotonicClock } from '../../../meters/clock.ts';
import { threadCpuUs } from '../../../meters/thread-cpu.ts';
import { Dequeuer } from './dequeuer.ts';
import { Enqueuer } from './enqueuer.ts';
import { Meter } from './meter.ts';
import { NullInstance } from './null-instance.ts';
import type { GeneratorCosts } from './protocol.ts';
import { Workload } from './workload.ts';

export interface GeneratorLoad {
  payloadBytes: number;
  /** Per transaction. */
  operations: number;
  messages: number;
}

/** Transactions of one round beside a trial; with few operations in each it takes 10 to 20 ms. */
const transactionsOfRound = 2_000;
/** All payloads of a round are in memory at once. */
const bytesOfRoundMax = 64 * 1024 ** 2;

/** How many messages a round beside a trial takes: whole transactions, and at least one. */
export function messagesOfRound({ payloadBytes, operations }: Omit<GeneratorLoad, 'messages'>): number {
  const wanted = Math.ceil(transactionsOfRound / Math.max(1, operations / 4));
  const fitting = Math.floor(bytesOfRoundMax / (payloadBytes * operations));
  return Math.max(1, Math.min(wanted, fitting)) * operations;
}

const roundsMax = 4;
/** One round per this much of the measured window, so that short trials do not spend most of their CPU on it. */
const windowMsPerRound = 300;

/** Measures in several rounds, and returns the result of the fastest one, which was disturbed least. */
export async function fastestRound<Costs>(
  windowMs: number,
  measure: () => Promise<Costs>,
  totalUs: (costs: Costs) => number,
): Promise<Costs> {
  let fastest = await measure();
  for (let round = 2; round <= Math.min(roundsMax, Math.floor(windowMs / windowMsPerRound)); round += 1) {
    const costs = await measure();
    if (totalUs(costs) < totalUs(fastest)) fastest = costs;
  }
  return fastest;
}

/** CPU time of the generator per message that it enqueues and per message that it dequeues. */
export async function cpuOfGenerator(load: GeneratorLoad): Promise<GeneratorCosts> {
  const work = workload(load);
  const inUs = await cpuOf(load.messages, () => new Enqueuer(work, 0).run());
  work.seal();
  const outUs = await cpuOf(load.messages, () => new Dequeuer(work, { sourceIndex: 0, number: 0 }).run());
  return { inUs, outUs };
}

function workload({ payloadBytes, operations, messages: wanted }: GeneratorLoad): Workload {
  const clock = createMonotonicClock();
  const kept = new NullInstance(clock);
  const host = NullInstance.asHost(kept);
  const codec = new PayloadCodec({ bytes: payloadBytes, seed: 1, nonce: 1 });
  const work = new Workload({
    host,
    clock,
    codec,
    streams: null,
    book: null,
    meter: new Meter(host, clock),
    config: {
      dir: '',
      instance: 1,
      sessions: 'embedded',
      layout: { queues: [], enqueueQueues: ['null'], dequeueSources: [{ queue: 'null' }] },
      createsQueues: false,
      cacheBytesMax: null,
      enqueuers: [0],
      dequeuers: 1,
      forwardsFrom: [],
      backlog: 0,
      payloadBytes,
      operationsPerTransaction: operations,
      rows: 'none',
      backlogMax: Number.POSITIVE_INFINITY,
      roundTripMs: 0,
      sharesBacklog: false,
      converts: false,
      tickMs: 250,
      orderScope: 'instance',
      isShared: false,
      seed: 1,
      nonce: 1,
      book: null,
      otherHost: null,
    },
  });
  kept.onCommit = (count) => {
    if (count >= wanted) work.stopEnqueuers();
  };
  return work;
}

/** CPU time of this thread per message, µs. */
async function cpuOf(count: number, run: () => Promise<void>): Promise<number> {
  const before = threadCpuUs();
  await run();
  return (threadCpuUs() - before) / count;
}
