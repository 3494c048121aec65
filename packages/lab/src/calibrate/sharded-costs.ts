/** The costs of a sharded queue, from workloads that differ in one thing at a time. */
import type { Instance } from '@shardlab/engine';
import { median, nonNegativeLeastSquares } from '@shardlab/model';
import {
  type MicroOptions,
  type MicroResult,
  type MicroWorkload,
  runMicroWorkload,
} from './micro-workloads.ts';
import { middleSample } from './sample.ts';

export interface ShardedCosts {
  callUs: number;
  enqueueUs: number;
  dequeueUs: number;
  transactionUs: number;
  groupUs: number;
  writeGroupUs: number;
  writeEnqueueUs: number;
  writeConsumptionUs: number;
  threadHopUs: number;
  syncUs: number;
  syncUsPerKib: number;
  /** How much commits of a lone session differ, as a coefficient of variation. */
  syncVariation: number;
  backgroundCpu: number;
  partitionUs: number;
  /** Typical relative error of the sums that the costs are taken from. */
  error: number;
}

const durable = 'calibrate-durable';
const relaxed = 'calibrate-relaxed';

const into = (sessions: number, operationsPerTransaction: number, queue = durable): MicroWorkload => ({
  queue,
  direction: 'in',
  sessions,
  operationsPerTransaction,
});
const outOf = (sessions: number, operationsPerTransaction: number, oneByOne = false): MicroWorkload => ({
  queue: durable,
  direction: 'out',
  sessions,
  operationsPerTransaction,
  oneByOne,
});

const workloads = {
  inSingle: into(1, 1),
  inShort: into(1, 25),
  inLong: into(1, 300),
  inMany: into(24, 1),
  inManyShort: into(12, 25),
  inManyLong: into(3, 200),
  outSingle: outOf(1, 1),
  outShort: outOf(4, 25),
  outMany: outOf(24, 4),
  outManyShort: outOf(12, 25),
  outLong: outOf(2, 200),
  outOneByOne: outOf(12, 25, true),
  relaxedSingle: into(1, 1, relaxed),
} satisfies Record<string, MicroWorkload>;

type Name = keyof typeof workloads;
type Results = Record<Name, MicroResult[]>;

/** `rounds` slices of every workload, interleaved, so that a slow moment of the machine hits all alike. */
export async function measureSharded(
  instance: Instance,
  options: Omit<MicroOptions, 'instance'> & { rounds: number },
): Promise<ShardedCosts> {
  await instance.createQueue({ name: durable, durability: 'durable' });
  await instance.createQueue({ name: relaxed, durability: 'relaxed' });
  const names = Object.keys(workloads) as Name[];
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Results;
  for (let round = 0; round < options.rounds; round++) {
    for (const name of names)
      results[name].push(await runMicroWorkload(workloads[name], { ...options, instance }));
  }
  const partitionUs = await measurePartitions(instance, options);
  await instance.dropQueue(durable);
  await instance.dropQueue(relaxed);
  return { ...costsOf(results, options.payloadBytes), partitionUs };
}

function costsOf(results: Results, payloadBytes: number): Omit<ShardedCosts, 'partitionUs'> {
  const middle = Object.fromEntries(
    Object.entries(results).map(([name, samples]) => [name, middleSample(samples)]),
  ) as Record<Name, MicroResult>;
  const synced = (Object.keys(workloads) as Name[]).filter((name) => workloads[name].queue === durable);
  const rows = synced.map((name) => middle[name]);
  const calls = synced.map((name) => callsOf(workloads[name], middle[name]));
  const session = nonNegativeLeastSquares(
    rows.map((row, index) => [row.messagesIn, row.messagesOut, row.transactions, row.groups, calls[index]!]),
    rows.map((row) => row.sessionUs),
  );
  const consuming = rows.map((row) => (row.messagesOut > 0 ? row.transactions : 0));
  const writer = nonNegativeLeastSquares(
    rows.map((row, index) => [row.messagesIn, consuming[index]!, row.groups]),
    rows.map((row) => row.writerUs),
  );
  const [enqueueUs, dequeueUs, transactionUs, groupUs, callUs] = session.factors as number[];
  const [writeEnqueueUs, writeConsumptionUs, writeGroupUs] = writer.factors as number[];
  // Of a lone session, what a commit takes beyond the CPU of both threads: two hops between them, and the sync.
  const idleIn = (name: Name) =>
    median(
      results[name].map((result) => result.roundUs - (result.sessionUs + result.writerUs) / result.groups),
    );
  const hops = Math.max(0, idleIn('relaxedSingle'));
  const syncSingle = Math.max(1, idleIn('inSingle') - hops);
  const syncLong = Math.max(syncSingle, idleIn('inLong') - hops);
  const kib = ((workloads.inLong.operationsPerTransaction - 1) * payloadBytes) / 1024;
  const all = Object.values(results).flat();
  const sum = (of: (result: MicroResult) => number) => all.reduce((total, result) => total + of(result), 0);
  return {
    callUs: callUs!,
    enqueueUs: enqueueUs!,
    dequeueUs: dequeueUs!,
    transactionUs: transactionUs!,
    groupUs: groupUs!,
    writeGroupUs: writeGroupUs!,
    writeEnqueueUs: writeEnqueueUs!,
    writeConsumptionUs: writeConsumptionUs!,
    threadHopUs: hops / 2,
    syncUs: syncSingle,
    syncUsPerKib: (syncLong - syncSingle) / kib,
    syncVariation: Math.min(1, median(results.inSingle.map((result) => result.commitVariation))),
    backgroundCpu: Math.max(0, sum((r) => r.otherUs) / sum((r) => r.sessionUs + r.writerUs)),
    error: Math.max(session.error, writer.error),
  };
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
