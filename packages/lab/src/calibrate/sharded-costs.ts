/** The costs of a sharded queue, derived from workloads that differ in one respect at a time. */
import type { Instance } from '@shardlab/engine';
import { median, nonNegativeLeastSquares } from '@shardlab/model';
import { leastDisturbed } from './disturbance.ts';
import {
  type MicroResult,
  type MicroWorkload,
  runMicroWorkload,
  type SliceOptions,
} from './micro-workloads.ts';

export interface ShardedCosts {
  callUs: number;
  enqueueUs: number;
  dequeueUs: number;
  transactionUs: number;
  groupUs: number;
  writeGroupUs: number;
  writeEnqueueUs: number;
  writeConsumptionUs: number;
  /** CPU time of a sync, its time beyond that, and the time added per KiB. */
  syncCpuUs: number;
  syncUs: number;
  syncUsPerKib: number;
  /** Coefficient of variation of the commits of a single session. */
  syncVariation: number;
  backgroundCpu: number;
  partitionUs: number;
  /** Typical relative error when sums of the costs are compared with the measured workloads. */
  error: number;
  /** Share of the machine's CPU used by other processes during the slices that count, in the median workload. */
  disturbance: number;
}

const durableQueue = 'calibrate-durable';
const relaxedQueue = 'calibrate-relaxed';

const enqueueWorkload = (
  queue: string,
  sessions: number,
  operationsPerTransaction: number,
): MicroWorkload => ({
  queue,
  direction: 'in',
  sessions,
  operationsPerTransaction,
});
const dequeueWorkload = (
  queue: string,
  sessions: number,
  operationsPerTransaction: number,
  oneByOne = false,
): MicroWorkload => ({
  queue,
  direction: 'out',
  sessions,
  operationsPerTransaction,
  oneMessagePerCall: oneByOne,
});

/** In each workload the sessions commit at the same time, so a round is exactly one group from start to end. */
const workloads: readonly MicroWorkload[] = [
  enqueueWorkload(durableQueue, 1, 1),
  enqueueWorkload(relaxedQueue, 1, 1),
  enqueueWorkload(durableQueue, 1, 25),
  enqueueWorkload(relaxedQueue, 1, 25),
  enqueueWorkload(durableQueue, 1, 300),
  enqueueWorkload(relaxedQueue, 1, 300),
  enqueueWorkload(durableQueue, 12, 25),
  enqueueWorkload(relaxedQueue, 12, 25),
  enqueueWorkload(relaxedQueue, 24, 1),
  dequeueWorkload(durableQueue, 4, 25),
  dequeueWorkload(relaxedQueue, 4, 25),
  dequeueWorkload(durableQueue, 24, 4),
  dequeueWorkload(relaxedQueue, 24, 4),
  dequeueWorkload(relaxedQueue, 12, 25),
  dequeueWorkload(relaxedQueue, 12, 25, true),
];

interface Row {
  work: MicroWorkload;
  /** The median slice by the time of a round. */
  result: MicroResult;
  /** Disturbance of the most disturbed slice that counts. */
  disturbance: number;
}

/** The least disturbed slices of every workload. */
export async function measureSharded(instance: Instance, options: SliceOptions): Promise<ShardedCosts> {
  await instance.createQueue({ name: durableQueue, durability: 'durable' });
  await instance.createQueue({ name: relaxedQueue, durability: 'relaxed' });
  const rows: Row[] = [];
  for (const work of workloads) {
    const slices = await leastDisturbed({ count: options.rounds, ms: options.ms }, () =>
      runMicroWorkload(work, { ...options, instance }),
    );
    rows.push({
      work,
      result: medianResult(slices.map(({ result }) => result)),
      disturbance: Math.max(...slices.map(({ disturbance }) => disturbance)),
    });
    options.onDone?.(rows.length / (workloads.length + 1)); // the partitions take about as long as a workload
  }
  const partitionUs = await measurePartitions(instance, options);
  await instance.dropQueue(durableQueue);
  await instance.dropQueue(relaxedQueue);
  return { ...costsOf(rows, options.payloadBytes), partitionUs };
}

/** The median is used because garbage collection makes some slices slower, and its absence makes others faster. */
function medianResult(slices: readonly MicroResult[]): MicroResult {
  const roundUs = ({ operationsUs, commitUs }: MicroResult) => operationsUs + commitUs;
  const sorted = [...slices].sort((a, b) => roundUs(a) - roundUs(b));
  return sorted[Math.floor((sorted.length - 1) / 2)]!;
}

function costsOf(rows: readonly Row[], payloadBytes: number): Omit<ShardedCosts, 'partitionUs'> {
  const session = nonNegativeLeastSquares(
    rows.map(({ work, result }) => [
      result.messagesIn,
      result.messagesOut,
      result.transactions,
      result.groups,
      work.queue === durableQueue ? result.groups : 0,
      callsOf(work, result),
    ]),
    rows.map(({ result }) => result.sessionUs),
  );
  const [enqueueUs, dequeueUs, transactionUs, plainGroupUs, syncedGroupUs, callUs] =
    session.factors as number[];

  // The time of a round beyond the session thread's CPU time belongs to the writer, because one waits for the other.
  const beyond = ({ result }: Row) => Math.max(1, result.offCpuUs);
  const plain = rows.filter(({ work }) => work.queue === relaxedQueue);
  const writer = nonNegativeLeastSquares(
    plain.map(({ work }) => writing(work)),
    plain.map(beyond),
  );
  const [writeEnqueueUs, writeConsumptionUs, writeGroupUs] = writer.factors as number[];

  const synced = rows.filter(({ work }) => work.queue === durableQueue);
  const written = ({ work }: Row) =>
    writing(work).reduce((sum, count, column) => sum + count * writer.factors[column]!, 0);
  const sync = nonNegativeLeastSquares(
    synced.map(({ work }) => [1, (writing(work)[0]! * payloadBytes) / 1024]),
    synced.map((row) => Math.max(1, beyond(row) - written(row))),
  );
  const [wholeSyncUs, syncUsPerKib] = sync.factors as number[];
  const syncCpuUs = Math.min(
    wholeSyncUs!,
    Math.max(0, median(synced.map((row) => row.result.writerUs / row.result.groups - written(row)))),
  );
  const sum = (of: (result: MicroResult) => number) => rows.reduce((total, row) => total + of(row.result), 0);
  return {
    callUs: callUs!,
    enqueueUs: enqueueUs!,
    dequeueUs: dequeueUs!,
    transactionUs: transactionUs!,
    groupUs: plainGroupUs! + syncedGroupUs!,
    writeGroupUs: writeGroupUs!,
    writeEnqueueUs: writeEnqueueUs!,
    writeConsumptionUs: writeConsumptionUs!,
    syncCpuUs,
    syncUs: wholeSyncUs! - syncCpuUs,
    syncUsPerKib: syncUsPerKib!,
    syncVariation: Math.min(1, synced[0]!.result.commitVariation),
    backgroundCpu: Math.max(0, sum((r) => r.otherUs) / sum((r) => r.sessionUs + r.writerUs)),
    error: Math.max(session.error, writer.error, sync.error),
    disturbance: median(rows.map(({ disturbance }) => disturbance)),
  };
}

/** The units of a round: messages written, transactions whose consumption is written, and the group. */
function writing({ direction, sessions, operationsPerTransaction }: MicroWorkload): [number, number, number] {
  return direction === 'in' ? [sessions * operationsPerTransaction, 0, 1] : [0, sessions, 1];
}

/** Dequeue calls; enqueues only stage and are counted as messages. */
function callsOf(
  { direction, oneMessagePerCall }: MicroWorkload,
  { transactions, messagesOut }: MicroResult,
): number {
  if (direction === 'in') return 0;
  return oneMessagePerCall ? messagesOut : transactions;
}

/** Fills and drains a few partitions with one session, and reads the cost of their maintenance from the wait event. */
async function measurePartitions(
  instance: Instance,
  { payloadBytes }: { payloadBytes: number },
): Promise<number> {
  const payload = Buffer.alloc(payloadBytes, 0x5a);
  const session = instance.openSession();
  const maintenance = () =>
    instance.waits.snapshot().find(({ event }) => event === 'partition maintenance')!.totalMs;
  const before = maintenance();
  for (let batch = 0; batch < partitionsToFill * batchesPerPartition; batch++) {
    for (let each = 0; each < batchMessages; each++) session.enqueue(durableQueue, { payload });
    await session.commit();
    await session.dequeue(durableQueue, { max: batchMessages });
    await session.commit();
  }
  await session.close();
  return ((maintenance() - before) * 1000) / partitionsToFill;
}

const partitionsToFill = 3;
const batchMessages = 1_024;
const batchesPerPartition = 32;
/** The engine's `limits.partitionMessagesMax`. */
export const messagesPerPartition = batchMessages * batchesPerPartition;
