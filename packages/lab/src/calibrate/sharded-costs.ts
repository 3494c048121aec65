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
  /** CPU time of a sync on the thread that commits, its time beyond that, and the time added per KiB. */
  syncCpuUs: number;
  syncUs: number;
  syncUsPerKib: number;
  /** From the session thread to the writer, or back, beyond what counts as the write. */
  threadHopUs: number;
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
const durableTopic = 'calibrate-durable-topic';
const relaxedTopic = 'calibrate-relaxed-topic';
const subscribers = Array.from({ length: 10 }, (_, index) => `subscriber ${index}`);
const isDurable = ({ queue }: MicroWorkload) => queue === durableQueue || queue === durableTopic;

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
const subscribersWorkload = (topic: string): MicroWorkload => ({
  ...dequeueWorkload(topic, subscribers.length, 10),
  subscribers,
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
  subscribersWorkload(durableTopic),
  subscribersWorkload(relaxedTopic),
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
  await instance.createQueue({ name: durableTopic, type: 'topic', durability: 'durable' });
  await instance.createQueue({ name: relaxedTopic, type: 'topic', durability: 'relaxed' });
  for (const topic of [durableTopic, relaxedTopic])
    for (const name of subscribers) await instance.subscribe(topic, { name });
  // Else the first workloads would be measured before their code is compiled.
  for (const work of workloads) await runMicroWorkload(work, { ...options, instance, ms: options.ms / 2 });
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
  for (const queue of [durableQueue, relaxedQueue, durableTopic, relaxedTopic])
    await instance.dropQueue(queue);
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
    rows.map(({ work }) => sessionUnits(work)),
    rows.map(({ result }) => Math.max(1, result.ownUs)),
  );
  const [enqueueUs, dequeueUs, transactionUs, groupUs, callUs] = session.factors as number[];

  const writeUs = ({ result }: Row) => Math.max(1, result.writeUs);
  const plain = rows.filter(({ work }) => !isDurable(work));
  const writer = nonNegativeLeastSquares(
    plain.map(({ work }) => writerUnits(work)),
    plain.map(writeUs),
  );
  const [writeEnqueueUs, writeConsumptionUs, writeGroupUs] = writer.factors as number[];

  const synced = rows.filter(({ work }) => isDurable(work));
  const written = ({ work }: Row) =>
    writerUnits(work).reduce((sum, count, column) => sum + count * writer.factors[column]!, 0);
  const sync = nonNegativeLeastSquares(
    synced.map(({ work }) => [1, (writerUnits(work)[0]! * payloadBytes) / 1024]),
    synced.map((row) => Math.max(1, writeUs(row) - written(row))),
  );
  const [wholeSyncUs, syncUsPerKib] = sync.factors as number[];
  const syncCpuUs = Math.min(
    wholeSyncUs!,
    Math.max(0, median(synced.map((row) => writerCpuUs(row.result) - written(row)))),
  );
  const sum = (of: (result: MicroResult) => number) => rows.reduce((total, row) => total + of(row.result), 0);
  return {
    callUs: callUs!,
    enqueueUs: enqueueUs!,
    dequeueUs: dequeueUs!,
    transactionUs: transactionUs!,
    groupUs: groupUs!,
    writeGroupUs: writeGroupUs!,
    writeEnqueueUs: writeEnqueueUs!,
    writeConsumptionUs: writeConsumptionUs!,
    syncCpuUs,
    syncUs: wholeSyncUs! - syncCpuUs,
    syncUsPerKib: syncUsPerKib!,
    syncVariation: Math.min(1, synced[0]!.result.commitVariation),
    backgroundCpu: Math.max(0, sum((r) => r.otherUs) / sum((r) => r.sessionUs + r.writerUs)),
    threadHopUs: median(synced.map(({ result }) => result.wakingUs)) / 2,
    error: Math.max(session.error, writer.error, sync.error),
    disturbance: median(rows.map(({ disturbance }) => disturbance)),
  };
}

/** CPU time of a group's write and sync: they run on the session thread while they are short. */
const writerCpuUs = ({ sessionUs, groups, ownUs }: MicroResult) => sessionUs / groups - ownUs;

/** The session thread's units of a round: messages in and out, transactions, the group, and dequeue calls (enqueues only stage). */
function sessionUnits({ direction, sessions, operationsPerTransaction, oneMessagePerCall }: MicroWorkload) {
  const messages = sessions * operationsPerTransaction;
  if (direction === 'in') return [messages, 0, sessions, 1, 0];
  return [0, messages, sessions, 1, oneMessagePerCall ? messages : sessions];
}

/** The writer's units of a round: messages written, subscribers whose consumption is written (a queue has one), and the group. */
function writerUnits({ direction, sessions, operationsPerTransaction, subscribers }: MicroWorkload) {
  return direction === 'in' ? [sessions * operationsPerTransaction, 0, 1] : [0, subscribers?.length ?? 1, 1];
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
