/** Puts the sharded queues of one instance together: each part gets the others that it needs, and the ports. */

import { QueueError } from '../api/errors.ts';
import { AppliedReader } from '../commit/applied-reader.ts';
import type { CommitOutcomes } from '../commit/commit-outcomes.ts';
import { GroupCommit } from '../commit/group-commit.ts';
import { ImmediateCommit } from '../commit/immediate-commit.ts';
import { RowLockWaits } from '../commit/row-lock-waits.ts';
import { Slab } from '../commit/staged-transaction.ts';
import type { WriterPort } from '../commit/writer-port.ts';
import { WriterReservation } from '../commit/writer-reservation.ts';
import { InstanceForwarding } from '../forwarding/instance-forwarding.ts';
import type { Delivery } from '../log/delivery.ts';
import { MessageCache } from '../log/message-cache.ts';
import { DelayClock } from '../model/delay-clock.ts';
import type { EmulatedSync } from '../model/emulated-sync.ts';
import { groupsPerEpoch } from '../model/group-number.ts';
import type { InstanceId, QueueId, SubscriberId } from '../model/ids.ts';
import type { InvariantViolation } from '../model/invariant.ts';
import { PartitionPool } from '../model/partitions.ts';
import type { Ports } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { FileReader } from '../model/read-request.ts';
import type { RecoveredInstance } from '../model/recovered-instance.ts';
import { sqlElsewhere } from '../model/sql-statement.ts';
import type { SubscriberRow } from '../model/subscriber-row.ts';
import { TraceRing } from '../model/trace-ring.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import { CommitProbe } from '../monitoring/commit-probe.ts';
import { MetricsSampler } from '../monitoring/metrics-sampler.ts';
import { readClock } from '../monitoring/rate-tracker.ts';
import { ShardedStatistics } from '../monitoring/sharded-statistics.ts';
import { BacklogReader } from '../queues/backlog-reader.ts';
import { ShardedBrowser } from '../queues/browse.ts';
import { DelayedMessages } from '../queues/delayed-messages.ts';
import type { DeliveryLease } from '../queues/delivery-lease.ts';
import { Dispatcher } from '../queues/dispatcher.ts';
import { Evacuation } from '../queues/evacuation.ts';
import { IdempotencyKeys } from '../queues/idempotency-keys.ts';
import { ShardedImmediateCalls } from '../queues/immediate-calls.ts';
import { PayloadStore } from '../queues/payloads/payload-store.ts';
import type { QueueEngine } from '../queues/queue-engine.ts';
import { deliveryMarksOf } from '../queues/recovery.ts';
import { Retention } from '../queues/retention.ts';
import { Retries } from '../queues/retries.ts';
import { ShardedLifecycle } from '../queues/sharded-lifecycle.ts';
import { ShardedPayloadStreams } from '../queues/sharded-payload-streams.ts';
import { ShardedPipelines } from '../queues/sharded-pipeline.ts';
import { ShardedQueues } from '../queues/sharded-queues.ts';
import { ShardedTransactions } from '../queues/sharded-transaction.ts';
import { SubscriberChanges } from '../queues/subscriber-changes.ts';
import { TimedHolds } from '../queues/timed-holds.ts';
import { TurnBudget } from '../queues/turn-budget.ts';
import { Branches } from '../xa/branches.ts';
import { Decisions } from '../xa/coordinator/decisions.ts';
import { PassedOnCalls } from '../xa/passed-on-calls.ts';
import { HomeInstances } from '../xa/tight/home-instances.ts';
import { ShippedBranches } from '../xa/tight/shipped-branches.ts';

export interface ShardedOptions {
  dir: string;
  instance: InstanceId;
  ports: Ports;
  cacheBytesMax: number;
  partitionMessagesMax: number;
  emulatedSync: EmulatedSync;
  logBytesMax: number;
  sampleIntervalMs: number;
  /** One message in this many is traced; 0: none. */
  traceEvery: number;
  writerReservationMsMax: number;
  sqlLockMsMax: number;
  waits: WaitRecorder;
  /** Remembers the transactions of remote sessions; filled from the file. */
  outcomes: CommitOutcomes;
  /** Queues of the catalog at the time of opening: what belongs to another one is removed. */
  queues: readonly QueueRow[];
  /** Whether the catalog ever had the queue: if it did and no longer has it, the queue was dropped. */
  everExisted(what: 'queue' | 'subscriber', id: QueueId | SubscriberId): boolean;
  queueById(queueId: QueueId | null): QueueRow | undefined;
  /** Created if it is missing; undefined if it cannot be created now. */
  exceptionQueueOf(queue: QueueRow): QueueRow | undefined;
  /** The instance whose file has the application's tables; undefined while there are none. */
  sqlInstance(): InstanceId | undefined;
  freeDiskBytes(): Promise<number>;
  assertFilesInPlace(): Promise<void>;
  subscribers(queueId: QueueId): readonly SubscriberRow[];
  onFatal(error: QueueError): void;
  /** Checked before each delivery; undefined where no other process can take the instance over. */
  lease?: DeliveryLease | undefined;
}

/** The parts of an instance's sharded queues that others use. */
export type ShardedParts = ReturnType<typeof assembleParts>;

/** Whatever writes an instance's file, and what the instance reports about it. */
export interface InstanceWriter extends WriterPort {
  /** CPU time that writing took since the instance was opened, microseconds; none of the session thread. */
  readonly cpuUs: number;
  /** Milliseconds since the last answer while one is due. */
  readonly silentMs: number;
  /** Sessions of other processes are connected, so that there is work for this thread while a group is synced. */
  hasClients: boolean;
  /** The files of the redo log, and of its lock. */
  readonly redoPaths: readonly string[];
  /** Resolves when the file is closed. Groups sent before are written first. */
  close(): Promise<void>;
}

/** An instance's file as it was found when it was opened, and the ways to it. */
export interface OpenedFile {
  writer: InstanceWriter;
  reader: FileReader;
  recovered: RecoveredInstance;
}

export function assembleParts(options: ShardedOptions, { writer, reader, recovered }: OpenedFile) {
  const { instance, ports, waits, lease } = options;
  const { clock, timers } = ports;
  const { epoch } = recovered;
  // Numbers of groups, payloads, delayed messages and batches count from here: none of an earlier opening is above.
  const firstNumber = epoch * groupsPerEpoch;
  const slab = new Slab();
  const cache = new MessageCache(options.cacheBytesMax);
  const usedPartitions = recovered.partitions.map(({ partition }) => partition);
  const pool = new PartitionPool(recovered.freePartitions, [
    ...usedPartitions,
    ...recovered.unusablePartitions,
  ]);
  const onInvariantBroken = (violation: InvariantViolation) => groupCommit.fail(violation);

  const traceRing = new TraceRing({ instance, clock, traceEvery: options.traceEvery });
  const queues = new ShardedQueues({
    instance,
    epoch,
    traceRing,
    cache,
    waits,
    ports,
    partitionMessagesMax: options.partitionMessagesMax,
    lostMessages: new Map(recovered.lostMessages.map(({ queueId, messages }) => [queueId, messages])),
    queueById: options.queueById,
    onNotForSubscriber: (log, seq) => payloads.onConsumed(log, [[seq, seq + 1]]),
    onInvariantBroken,
    onCreated: (queue) => {
      forwarding.addQueue(queue);
      sampler.startRates(queue);
    },
  });
  const backlogReader = new BacklogReader({
    file: new AppliedReader({ file: reader, unapplied: () => groupCommit.unapplied, writer }),
    onRead: ({ log }, error) => {
      const queue = queues.queueOfLog(log);
      if (error === undefined) queue?.serveWaiters();
      else queue?.rejectWaiters(error);
    },
  });
  const holds = new TimedHolds<Delivery>({
    ports,
    onExpired: (expired) => dispatcher.onExpired(expired.map((hold) => hold.delivery)),
    onInvariantBroken,
  });
  const groupCommit = new GroupCommit({
    firstGroupNumber: firstNumber + 1,
    pool,
    outcomes: options.outcomes,
    waits,
    clock,
    timers,
    writer,
    onVisible: queues.serveWaitersOf,
    onOldPartition: (log) => evacuation.evacuateOldest(log),
    onRetained: (log) => retention.watch(log),
    onFatal: (error) => {
      queues.rejectWaiters(error.code === 'INVARIANT_BROKEN' ? error : 'INSTANCE_FAILED');
      options.onFatal(error);
    },
  });
  const evacuation = new Evacuation(groupCommit);
  const retention = new Retention({ groupCommit, ports });
  const payloads = new PayloadStore({
    groupCommit,
    waits,
    ports,
    recovered: recovered.payloads,
    firstPayloadId: firstNumber,
    readChunk: (key) => backlogReader.readChunk(key),
  });
  const retries = new Retries({
    groupCommit,
    slab,
    payloads,
    ports,
    exceptionQueueOf: (row) => {
      const exceptions = options.exceptionQueueOf(row);
      return exceptions && queues.getOrCreate(exceptions);
    },
    onReady: (queue) => queue.serveWaiters(),
    onInvariantBroken,
  });
  const dispatcher = new Dispatcher({
    epoch,
    clock,
    payloads,
    lease,
    backlogReader,
    holds,
    retries,
    queueOfRow: (row) => queues.getOrCreate(row),
    queueOfLog: (log) => queues.queueOfLog(log),
  });
  const delayClock = new DelayClock(clock, recovered.delayClock);
  const delayed = new DelayedMessages({
    groupCommit,
    slab,
    payloads,
    delayClock,
    timers,
    counts: recovered.delayedCounts,
    nextDueAtMs: recovered.nextDueAtMs,
    firstId: firstNumber,
    readDue: (nowMs) => backlogReader.readDue(nowMs),
    logOf: (queueId, logId) => queues.findById(queueId)?.findLog(logId),
  });
  const forwarding = new InstanceForwarding({
    instance,
    epoch,
    group: groupCommit,
    slab,
    waits,
    ports,
    backlog: backlogReader,
    lease,
    forwardedOut: recovered.forwardedOut,
    forwardedIn: recovered.forwardedIn,
    firstBatchNumber: firstNumber,
    findQueue: (queueId) => queues.findById(queueId),
    onFatal: (error) => groupCommit.fail(error),
  });
  const instanceSample = () => ({
    instance,
    commits: groupCommit.commits,
    groups: groupCommit.groups,
    cacheBytes: cache.bytes,
    cacheBytesMax: cache.bytesMax,
  });
  const sampler = new MetricsSampler({
    epoch,
    sampleMs: options.sampleIntervalMs,
    ports,
    group: groupCommit,
    queues: () => queues,
    instanceSample,
  });
  const probe = new CommitProbe({
    epoch,
    ports,
    group: groupCommit,
    instanceSample,
    freeDiskBytes: options.freeDiskBytes,
    assertFilesInPlace: options.assertFilesInPlace,
  });

  const reserveWriter = async () => {
    const reservation = new WriterReservation({
      writer,
      timers,
      onReleased: (released) => groupCommit.releaseWriter(released),
    });
    await groupCommit.reserveWriter(reservation);
    reservation.startExpiry(options.writerReservationMsMax);
    return reservation;
  };
  const idempotencyKeys = new IdempotencyKeys({
    nowMs: () => delayClock.nowMs(),
    read: (key) => backlogReader.readIdempotencyKey(key),
  });
  const rowLockWaits = new RowLockWaits({
    clock,
    timers,
    waits,
    lockMsMax: options.sqlLockMsMax,
    isHeld: (branch) => branches.has(branch),
  });
  const shared = { queues, holds, payloads, delayed, groupCommit };
  const immediateCommit = new ImmediateCommit({
    groupCommit,
    onVisible: (log) => queues.queueOfLog(log)?.serveWaiters(),
  });
  const ofTransactions = {
    slab,
    clock,
    dispatcher,
    idempotencyKeys,
    immediateCommit,
    reserveWriter,
    rowLockWaits,
  };
  const transactions = new ShardedTransactions({ ...shared, ...ofTransactions });
  let sqlInstance: InstanceId | undefined;
  const assertHasTables = () => {
    sqlInstance ??= options.sqlInstance();
    if (sqlInstance !== instance) throw sqlElsewhere(instance, sqlInstance);
  };
  const shipped: ShippedBranches = new ShippedBranches({
    transactions,
    timers,
    findQueue: options.queueById,
    assertHasTables,
    branchesOf: (transactionKey) => branches.ofTransaction(transactionKey),
  });
  const homeInstances = new HomeInstances({ instance, shipped, waits, ports });
  const passedOn = new PassedOnCalls({ instance, waits, ports });
  const branches = new Branches({
    groupCommit,
    queues,
    dispatcher,
    delayed,
    transactions,
    rowLockWaits,
    homeInstances,
    passedOn,
    ports,
    assertHasTables,
  });
  const decisions = new Decisions(groupCommit, clock, recovered.decisions);
  const lifecycle = new ShardedLifecycle({
    ...shared,
    pool,
    dropForwarding: (queueId) => forwarding.dropQueue(queueId),
  });
  const subscriberChanges = new SubscriberChanges({ ...shared, clock });
  const engine: QueueEngine = {
    transactions,
    receiver: dispatcher,
    browser: new ShardedBrowser({ queues, backlogReader, holds, payloads, delayClock }),
    statistics: new ShardedStatistics({
      ...shared,
      instance,
      transactions,
      sampler,
      clock,
      forwardedCounts: (row) => forwarding.forwardedCounts(row),
    }),
    lifecycle,
    topics: subscriberChanges,
    immediate: new ShardedImmediateCalls({
      transactions,
      lease,
      budget: new TurnBudget(timers),
      consumedPerSec: (queue) => sampler.rates.consumedPerSec(queue, readClock(clock)),
    }),
    streams: new ShardedPayloadStreams(payloads, dispatcher),
    pipelines: new ShardedPipelines(transactions),
  };

  const writeClose = () =>
    groupCommit.write({
      sync: 'NORMAL',
      onClose: () => [{ kind: 'close', deliveryMarks: deliveryMarksOf(queues) }],
    });
  /** Ends what is in progress and closes the file; the order is that of use. */
  const close = async () => {
    queues.rejectWaiters('INSTANCE_CLOSED');
    branches.close();
    homeInstances.end(new QueueError('INSTANCE_CLOSED', { details: { instance } }));
    holds.close();
    await forwarding.close();
    payloads.close();
    retries.close();
    retention.close();
    await delayed.close();
    await sampler.close();
    await groupCommit.whenIdle();
    await writeClose().catch(() => undefined); // without it the next opening takes this one for a crash
    await backlogReader.close();
    await writer.close();
  };
  const checkpoint = async () => {
    const last = groupCommit.unapplied.at(-1);
    if (last !== undefined) await writer.whenApplied(last.groupNumber);
  };
  return {
    engine,
    epoch,
    lostMessages: recovered.lostMessages,
    recoveredServices: recovered.services,
    cache,
    pool,
    queues,
    traceRing,
    backlogReader,
    holds,
    delayClock,
    retries,
    groupCommit,
    payloads,
    delayed,
    branches,
    rowLockWaits,
    homeInstances,
    passedOn,
    decisions,
    forwarding,
    sampler,
    probe,
    lifecycle,
    subscriberChanges,
    writer,
    checkpoint,
    close,
  };
}
