/** The costs of a sharded queue, from workloads that differ in one thing at a time. */
import type { Instance } from '@shardlab/engine';
import { median, nonNegativeLeastSquares } from '@shardlab/model';
import { leastDisturbed } from './disturbance.ts';
import {
  type MicroOptions,
  type MicroResult,
  type MicroWorkload,
  runMicroWorkload,
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
  /** What a sync takes of a core, and beyond it; and what each KiB adds. */
  syncCpuUs: number;
  syncUs: number;
  syncUsPerKib: number;
  /** How much commits of a lone session differ, as a coefficient of variation. */
  syncVariation: number;
  backgroundCpu: number;
  partitionUs: number;
  /** Typical relative error of the sums that the costs are taken from. */
  error: number;
  /** Share of the machine's CPU that others took during the slices that counted, in the median workload. */
  disturbance: number;
}

const durable = 'calibrate-durable';
const relaxed = 'calibrate-relaxed';

const into = (queue: string, sessions: number, operationsPerTransaction: number): MicroWorkload => ({
  queue,
  direction: 'in',
  sessions,
  operationsPerTransaction,
});
const outOf = (
  queue: string,
  sessions: number,
  operationsPerTransaction: number,
  oneByOne = false,
): MicroWorkload => ({ queue, direction: 'out', sessions, operationsPerTransaction, oneByOne });

/** In each the sessions commit in step, so a round is one group from end to end with nothing beside it. */
const workloads: readonly MicroWorkload[] = [
  into(durable, 1, 1),
  into(relaxed, 1, 1),
  into(durable, 1, 25),
  into(relaxed, 1, 25),
  into(durable, 1, 300),
  into(relaxed, 1, 300),
  into(durable, 12, 25),
  into(relaxed, 12, 25),
  into(relaxed, 24, 1),
  outOf(durable, 4, 25),
  outOf(relaxed, 4, 25),
  outOf(durable, 24, 4),
  outOf(relaxed, 24, 4),
  outOf(relaxed, 12, 25),
  outOf(relaxed, 12, 25, true),
];

interface Row {
  work: MicroWorkload;
  /** The slice in the middle, by the time of a round. */
  result: MicroResult;
  /** Of the most disturbed slice that counted. */
  disturbance: number;
}

/** Of every workload the slices that others disturbed least. */
export async function measureSharded(
  instance: Instance,
  options: Omit<MicroOptions, 'instance'> & { rounds: number },
): Promise<ShardedCosts> {
  await instance.createQueue({ name: durable, durability: 'durable' });
  await instance.createQueue({ name: relaxed, durability: 'relaxed' });
  const rows: Row[] = [];
  for (const work of workloads) {
    const slices = await leastDisturbed(options.rounds, () =>
      runMicroWorkload(work, { ...options, instance }),
    );
    rows.push({
      work,
      result: middleOf(slices.map(({ result }) => result)),
      disturbance: Math.max(...slices.map(({ disturbance }) => disturbance)),
    });
  }
  const partitionUs = await measurePartitions(instance, options);
  await instance.dropQueue(durable);
  await instance.dropQueue(relaxed);
  return { ...costsOf(rows, options.payloadBytes), partitionUs };
}

/** What comes in between (a collection of garbage) makes a slice slower, what it left out makes it faster. */
function middleOf(slices: readonly MicroResult[]): MicroResult {
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
      work.queue === durable ? result.groups : 0,
      callsOf(work, result),
    ]),
    rows.map(({ result }) => result.sessionUs),
  );
  const [enqueueUs, dequeueUs, transactionUs, plainGroupUs, syncedGroupUs, callUs] =
    session.factors as number[];

  // What a round takes beyond the session thread's CPU is the writer's, since the one waits for the other.
  const beyond = ({ result }: Row) => Math.max(1, result.beyondCpuUs);
  const plain = rows.filter(({ work }) => work.queue === relaxed);
  const writer = nonNegativeLeastSquares(
    plain.map(({ work }) => writing(work)),
    plain.map(beyond),
  );
  const [writeEnqueueUs, writeConsumptionUs, writeGroupUs] = writer.factors as number[];

  const synced = rows.filter(({ work }) => work.queue === durable);
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

/** Of a round: messages that are written, transactions whose consumption is, and the group itself. */
function writing({ direction, sessions, operationsPerTransaction }: MicroWorkload): [number, number, number] {
  return direction === 'in' ? [sessions * operationsPerTransaction, 0, 1] : [0, sessions, 1];
}

/** Calls of dequeue; enqueues only stage and are counted as messages. */
function callsOf({ direction, oneByOne }: MicroWorkload, { transactions, messagesOut }: MicroResult): number {
  if (direction === 'in') return 0;
  return oneByOne ? messagesOut : transactions;
}

/** Fills and drains a few partitions by one session, and reads what their upkeep took off the wait event. */
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
    for (let each = 0; each < batchMessages; each++) session.enqueue(durable, { payload });
    await session.commit();
    await session.dequeue(durable, { max: batchMessages });
    await session.commit();
  }
  await session.close();
  return ((maintenance() - before) * 1000) / partitionsToFill;
}

const partitionsToFill = 3;
const batchMessages = 1_024;
const batchesPerPartition = 32;
/** What fills one: `limits.partitionMessagesMax` of the engine. */
export const messagesPerPartition = batchMessages * batchesPerPartition;
