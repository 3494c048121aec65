/** The costs of the unsharded queue: its three kinds of write, each on the session thread under the single lock. */
import type { Instance } from '@shardlab/engine';
import { median, nonNegativeLeastSquares } from '@shardlab/model';
import { leastDisturbed } from './disturbance.ts';
import { type MicroResult, runMicroWorkload, type SliceOptions } from './micro-workloads.ts';

export interface UnshardedCosts {
  /** Staging a message, outside the lock. */
  enqueueUs: number;
  /** CPU time of the writes, including that of a sync. */
  enter: VisitCost;
  claim: VisitCost;
  leave: VisitCost;
  /** Time of a synced write beyond its CPU time. */
  syncUs: number;
}

export interface VisitCost {
  visitUs: number;
  messageUs: number;
}

const queue = 'calibrate-unsharded';
const operationsPerTransactionSteps = [1, 25, 150] as const;

interface TransactionTime {
  operations: number;
  /** Per transaction, µs: its CPU time, and the time of its operations and its commit. */
  cpuUs: number;
  operationsUs: number;
  commitUs: number;
}

/** Measured with a single session, which shares no group, and whose writes run on the measured thread. */
export async function measureUnsharded(instance: Instance, options: SliceOptions): Promise<UnshardedCosts> {
  await instance.createQueue({ name: queue, kind: 'unsharded', durability: 'durable' });
  const into: TransactionTime[] = [];
  const outOf: TransactionTime[] = [];
  for (const operations of operationsPerTransactionSteps) {
    into.push(await measure('in', operations, instance, options));
    outOf.push(await measure('out', operations, instance, options));
    options.onDone?.(outOf.length / operationsPerTransactionSteps.length);
  }
  await instance.dropQueue(queue);

  const staging = Math.min(...into.map(({ operations, operationsUs }) => operationsUs / operations));
  const entering = into.map((line) => line.cpuUs - line.operationsUs);
  // A claim is not synced, so its time is CPU time; the rest of the transaction's CPU time belongs to the commit.
  const leaving = outOf.map((line) => line.cpuUs - line.operationsUs);
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
  options: SliceOptions,
): Promise<TransactionTime> {
  const work = { queue, direction, sessions: 1, operationsPerTransaction: operations };
  const slices = await leastDisturbed({ count: options.rounds, ms: options.ms }, () =>
    runMicroWorkload(work, { ...options, instance }),
  );
  const middle = (of: (result: MicroResult) => number) => median(slices.map(({ result }) => of(result)));
  return {
    operations,
    cpuUs: middle(({ sessionUs, transactions }) => sessionUs / transactions),
    operationsUs: middle(({ operationsUs }) => operationsUs),
    commitUs: middle(({ commitUs }) => commitUs),
  };
}

/** Separates the fixed cost from the cost per message. */
function lineThrough(times: readonly number[]): VisitCost {
  const { factors } = nonNegativeLeastSquares(
    operationsPerTransactionSteps.map((operations) => [1, operations]),
    times.map((time) => Math.max(time, 1)),
  );
  const [visitUs, messageUs] = factors as [number, number];
  return { visitUs, messageUs };
}
