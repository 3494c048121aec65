/** The costs of the unsharded queue: its three kinds of write, each in the session thread and under the one lock. */
import type { Instance } from '@shardlab/engine';
import { median, nonNegativeLeastSquares } from '@shardlab/model';
import { type MicroOptions, runMicroWorkload } from './micro-workloads.ts';

export interface UnshardedCosts {
  /** Staging a message, outside the lock. */
  enqueueUs: number;
  /** CPU of the writes, a sync's own included. */
  enter: VisitCost;
  claim: VisitCost;
  leave: VisitCost;
  /** What a synced write takes beyond its CPU. */
  syncUs: number;
}

export interface VisitCost {
  visitUs: number;
  messageUs: number;
}

const queue = 'calibrate-unsharded';
const lengths = [1, 25, 150] as const;

interface Slice {
  operations: number;
  /** Of a transaction, µs: its CPU, and the time of its operations and of its commit. */
  cpuUs: number;
  operationsUs: number;
  commitUs: number;
}

/** Times are those of a lone session: it has no group to share, and its writes run in the thread that is measured. */
export async function measureUnsharded(
  instance: Instance,
  options: Omit<MicroOptions, 'instance'> & { rounds: number },
): Promise<UnshardedCosts> {
  await instance.createQueue({ name: queue, kind: 'unsharded', durability: 'durable' });
  const into: Slice[] = [];
  const outOf: Slice[] = [];
  for (const operations of lengths) {
    into.push(await measure('in', operations, instance, options));
    outOf.push(await measure('out', operations, instance, options));
  }
  await instance.dropQueue(queue);

  const staging = Math.min(...into.map(({ operations, operationsUs }) => operationsUs / operations));
  const entering = into.map((slice) => slice.cpuUs - slice.operationsUs);
  // A claim is not synced, so its time is its CPU; what is left of the transaction's CPU is the commit's.
  const leaving = outOf.map((slice) => slice.cpuUs - slice.operationsUs);
  const waits = [
    ...into.map(({ commitUs }, index) => commitUs - entering[index]!),
    ...outOf.map(({ commitUs }, index) => commitUs - leaving[index]!),
  ];
  return {
    enqueueUs: staging,
    enter: lineThrough(entering),
    claim: lineThrough(outOf.map(({ operationsUs }) => operationsUs)),
    leave: lineThrough(leaving),
    syncUs: Math.max(1, median(waits)),
  };
}

async function measure(
  direction: 'in' | 'out',
  operations: number,
  instance: Instance,
  options: Omit<MicroOptions, 'instance'> & { rounds: number },
): Promise<Slice> {
  const slices: Slice[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const work = { queue, direction, sessions: 1, operationsPerTransaction: operations };
    const { sessionUs, transactions, operationsUs, commitUs } = await runMicroWorkload(work, {
      ...options,
      instance,
    });
    slices.push({ operations, cpuUs: sessionUs / transactions, operationsUs, commitUs });
  }
  const middle = (of: (slice: Slice) => number) => median(slices.map(of));
  return {
    operations,
    cpuUs: middle((slice) => slice.cpuUs),
    operationsUs: middle((slice) => slice.operationsUs),
    commitUs: middle((slice) => slice.commitUs),
  };
}

/** A fixed part and one for each message. */
function lineThrough(times: readonly number[]): VisitCost {
  const { factors } = nonNegativeLeastSquares(
    lengths.map((operations) => [1, operations]),
    times.map((time) => Math.max(time, 1)),
  );
  const [visitUs, messageUs] = factors as [number, number];
  return { visitUs, messageUs };
}
