/** The costs of the load generator: the enqueuer and dequeuer of a trial, run on an instance that does nothing. */
import { nonNegativeLeastSquares } from '@shardlab/model';
import { createMonotonicClock } from '../trial/clock.ts';
import { runDequeuer } from '../trial/dequeuer.ts';
import { Enqueuer } from '../trial/enqueuer.ts';
import { Meter } from '../trial/meter.ts';
import { PayloadCodec } from '../trial/payload.ts';
import type { GeneratorCosts } from '../trial/protocol.ts';
import { threadCpuUs } from '../trial/thread-cpu.ts';
import { Workload } from '../trial/workload.ts';
import { NullInstance } from './null-instance.ts';

export interface ClientCosts {
  enqueueUs: number;
  dequeueUs: number;
  transactionUs: number;
}

const messages = 12_000;
const operationsPerTransactionSteps = [1, 4, 40] as const;

export async function measureClient(payloadBytes: number): Promise<ClientCosts> {
  const inOnly: TransactionTime[] = [];
  const outOnly: TransactionTime[] = [];
  // The first round warms the code up; only the second one counts.
  for (let round = 0; round < 2; round++) {
    inOnly.length = 0;
    outOnly.length = 0;
    for (const operations of operationsPerTransactionSteps) {
      const { inUs, outUs } = await cpuOfGenerator({ payloadBytes, operations, messages });
      inOnly.push({ operations, us: inUs });
      outOnly.push({ operations, us: outUs });
    }
  }
  const [enqueue, dequeue] = [lineThrough(inOnly), lineThrough(outOnly)];
  return {
    enqueueUs: enqueue.messageUs,
    dequeueUs: dequeue.messageUs,
    transactionUs: (enqueue.transactionUs + dequeue.transactionUs) / 2,
  };
}

interface TransactionTime {
  operations: number;
  us: number;
}

export interface GeneratorLoad {
  payloadBytes: number;
  /** Per transaction. */
  operations: number;
  messages: number;
}

/** CPU time of the generator per message that it enqueues and per message that it dequeues. */
export async function cpuOfGenerator(load: GeneratorLoad): Promise<GeneratorCosts> {
  const work = workload(load);
  const inUs = await cpuOf(load.messages, () => new Enqueuer(work, 0).run());
  work.seal();
  const outUs = await cpuOf(load.messages, () => runDequeuer(work, { sourceIndex: 0, number: 0 }));
  return { inUs, outUs };
}

function workload({ payloadBytes, operations, messages: wanted }: GeneratorLoad): Workload {
  const clock = createMonotonicClock();
  const kept = new NullInstance(clock);
  const host = NullInstance.asHost(kept);
  const forge = new PayloadCodec({ bytes: payloadBytes, seed: 1, nonce: 1 });
  const work = new Workload({
    host,
    clock,
    codec: forge,
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

function lineThrough(lines: readonly TransactionTime[]): { messageUs: number; transactionUs: number } {
  const { factors } = nonNegativeLeastSquares(
    lines.map(({ operations }) => [1, 1 / operations]),
    lines.map(({ us }) => us),
  );
  const [messageUs, transactionUs] = factors as [number, number];
  return { messageUs, transactionUs };
}
