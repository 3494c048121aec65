/** The costs of the unsharded queue: its three kinds of write, each in the session thread and under the one lock. */
import type { Instance } from '@shardlab/engine';
import { median, nonNegativeLeastSquares } from '@shardlab/model';
import { leastDisturbed } from './disturbance.ts';
import { type MicroOptions, type MicroResult, runMicroWorkload } from './micro-workloads.ts';

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

interface Line {
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
  const into: Line[] = [];
  const outOf: Line[] = [];
  for (const operations of lengths) {
    into.push(await measure('in', operations, instance, options));
    outOf.push(await measure('out', operations, instance, options));
  }
  await instance.dropQueue(queue);

  const staging = Math.min(...into.map(({ operations, operationsUs }) => operationsUs / operations));
  const entering = into.map((line) => line.cpuUs - line.operationsUs);
  // A claim is not synced, so its time is its CPU; what is left of the transaction's CPU is the commit's.
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
  options: Omit<MicroOptions, 'instance'> & { rounds: number },
): Promise<Line> {
  const work = { queue, direction, sessions: 1, operationsPerTransaction: operations };
  const slices = await leastDisturbed(options.rounds, () => runMicroWorkload(work, { ...options, instance }));
  const middle = (of: (result: MicroResult) => number) => median(slices.map(({ result }) => of(result)));
  return {
    operations,
    cpuUs: middle(({ sessionUs, transactions }) => sessionUs / transactions),
    operationsUs: middle(({ operationsUs }) => operationsUs),
    commitUs: middle(({ commitUs }) => commitUs),
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
