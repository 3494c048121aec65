/** Forwarding at one instance: connects its queues with the other instances, and answers their requests. */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { registerWaitEvent } from '../api/waits.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import { stopReason } from '../commit/instance-failure.ts';
import type { Slab } from '../commit/staged-transaction.ts';
import type { BatchSender, ForwardedBatch, ReceiverReport, ShardKey } from '../model/forwarded-batch.ts';
import type { ForwardedInRow, ForwardedOutRow } from '../model/forwarding-row.ts';
import type { BatchNumber, ConnectionNumber, Epoch, InstanceId, QueueId } from '../model/ids.ts';
import type { Ports } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import type { BacklogReader } from '../queues/backlog-reader.ts';
import type { DeliveryLease } from '../queues/delivery-lease.ts';
import type { ShardedQueue } from '../queues/sharded-queues.ts';
import { ForwardReceiver } from './forward-receiver.ts';
import type { Interconnect } from './interconnect.ts';
import { QueueForwarding, type QueueForwardingHost } from './queue-forwarding.ts';
import { InterconnectUnavailable } from './receiver-contact.ts';
import { ForwardingClosed } from './retry-pause.ts';

export const forwardingWait = registerWaitEvent({
  name: 'forwarding',
  class: 'network',
  standsFor: null,
  about:
    'a batch between instances, until its receiver has committed it; a session waits for it only if nothing else is ready',
});

export interface InstanceForwardingOptions {
  instance: InstanceId;
  epoch: Epoch;
  ports: Pick<Ports, 'clock' | 'timers'>;
  group: GroupCommit;
  slab: Slab;
  waits: WaitRecorder;
  backlog: BacklogReader;
  lease: DeliveryLease | undefined;
  /** The rows in the file. */
  forwardedOut: readonly ForwardedOutRow[];
  forwardedIn: readonly ForwardedInRow[];
  /** Higher than every batch number that this instance used in earlier epochs. */
  firstBatchNumber: BatchNumber;
  /**
   * Undefined if the catalog has no such queue. A queue that is found for the first time is passed to `addQueue` before this
   * returns.
   */
  findQueue(queueId: QueueId): ShardedQueue | undefined;
  /** Called after an unexpected error, which is a bug: the instance must stop. */
  onFatal(error: QueueError): void;
}

/** The report on a queue that was dropped or does not forward. */
const emptyReport: ReceiverReport = { batchNumber: 0, sourceRuns: [], allDelivered: true };

export class InstanceForwarding {
  readonly #options: InstanceForwardingOptions;
  readonly #receiver: ForwardReceiver;
  readonly #queues = new Map<QueueId, QueueForwarding>();
  readonly #host: QueueForwardingHost;
  #interconnect: Interconnect | undefined;
  #lastBatchNumber: BatchNumber;
  #lastConnectionNumber: ConnectionNumber = 0;
  #acceptsMessages = true;
  #closed = false;

  constructor(options: InstanceForwardingOptions) {
    this.#options = options;
    this.#lastBatchNumber = options.firstBatchNumber;
    const { instance, ports, group, slab, backlog, lease } = options;
    this.#receiver = new ForwardReceiver({ instance, group, slab, rows: options.forwardedIn });
    this.#host = {
      instance,
      group,
      backlog,
      ports,
      consumerIdleMs: () => this.#interconnect?.consumerIdleMs ?? limits.forwardIdleMs,
      peers: () => this.#interconnect?.peers() ?? [],
      peer: (other) => this.#interconnect?.peer(other),
      nextBatchNumber: () => {
        this.#lastBatchNumber += 1;
        return this.#lastBatchNumber;
      },
      whenReceiverIdle: (shard) => this.#receiver.whenShardIdle(shard),
      mayDeliver: () => lease?.isHeld() !== false,
      acceptsMessages: () => this.#acceptsMessages,
      runInBackground: (work) => this.#runInBackground(work),
    };
  }

  /** Call it for every queue that is loaded, whether it forwards or not. */
  addQueue(queue: ShardedQueue): void {
    const { row } = queue;
    if (!row.forwarding || this.#closed) return;
    const rows = this.#options.forwardedOut.filter(({ queueId }) => queueId === row.queueId);
    const forwarding = new QueueForwarding(queue, this.#host, rows);
    queue.forwarding = forwarding;
    this.#queues.set(row.queueId, forwarding);
    if (this.#interconnect !== undefined) forwarding.onPeersChanged();
  }

  dropQueue(queueId: QueueId): void {
    this.#queues.get(queueId)?.close();
    this.#queues.delete(queueId);
    this.#receiver.forgetQueue(queueId);
  }

  /** Messages of a queue received from other instances, and sent to them, since it was created. */
  forwardedCounts({ queueId }: QueueRow): { forwardedIn: number; forwardedOut: number } {
    return {
      forwardedIn: this.#receiver.forwardedIn(queueId),
      forwardedOut: this.#queues.get(queueId)?.forwardedOut ?? 0,
    };
  }

  /** Set it to false once the instance is leaving the cluster: then it refuses messages of other instances' shards. */
  set acceptsMessages(accepts: boolean) {
    this.#acceptsMessages = accepts;
  }

  /** No operation is running, and no forwarded message waits for its delivery at another instance. */
  get isQuiescent(): boolean {
    return [...this.#queues.values()].every((queue) => queue.isQuiescent);
  }

  /** Call it when other instances can be reached, and again when some were added or removed. */
  connect(interconnect: Interconnect): void {
    this.#interconnect = interconnect;
    for (const queue of this.#queues.values()) queue.onPeersChanged();
  }

  /** Starts nothing more, and gives running operations up to `forwardCloseMsMax` to end. */
  async disconnect(): Promise<void> {
    const ended = Promise.all([...this.#queues.values()].map((queue) => queue.disconnect()));
    const deadline = Promise.withResolvers<void>();
    const timer = this.#options.ports.timers.after(limits.forwardCloseMsMax, deadline.resolve);
    await Promise.race([ended, deadline.promise]);
    timer.cancel();
    this.#interconnect = undefined;
  }

  /** Numbers the connections to other instances, over one epoch of this instance. */
  nextConnectionNumber(): ConnectionNumber {
    this.#lastConnectionNumber += 1;
    return this.#lastConnectionNumber;
  }

  get epoch(): Epoch {
    return this.#options.epoch;
  }

  /** A peer requests one batch. Resolves when it was sent, or the request cancelled. Throws `QUEUE_NOT_FOUND`. */
  async requestBatch(peer: InstanceId, queueId: QueueId, messagesMax: number): Promise<void> {
    this.#assertOpen();
    const queue = this.#findQueue(queueId);
    if (queue === undefined) throw new QueueError('QUEUE_NOT_FOUND', { details: { queueId } });
    await queue.requestBatch(peer, messagesMax);
  }

  /** Without a queue, cancels all requests of the peer. */
  cancelRequest(peer: InstanceId, queueId?: QueueId): void {
    if (queueId !== undefined) this.#queues.get(queueId)?.cancelRequest(peer);
    else for (const queue of this.#queues.values()) queue.cancelRequest(peer);
  }

  /** See `ForwardReceiver.acceptBatch`. `sentMsAgo`: how long the batch was in transit. */
  async acceptBatch(sender: BatchSender, batch: ForwardedBatch, sentMsAgo: number): Promise<boolean> {
    this.#assertOpen();
    const { ports, waits } = this.#options;
    const startedAtMs = ports.clock.monotonicMs();
    const accepted = await this.#receiver.acceptBatch(sender, batch, () =>
      this.#findQueue(batch.queueId)?.forwardTargetOf(batch.shard),
    );
    if (!accepted) return false;
    waits.record(forwardingWait, sentMsAgo + ports.clock.monotonicMs() - startedAtMs);
    this.#queues.get(batch.queueId)?.onBatchArrived(batch.records.count);
    return true;
  }

  /** Reports what this instance received of a shard; with `whenDelivered`, once all of it has been delivered here. */
  async reportReceived(
    sender: BatchSender,
    shardKey: ShardKey,
    whenDelivered: boolean,
  ): Promise<ReceiverReport> {
    this.#assertOpen();
    const queue = this.#findQueue(shardKey.queueId);
    if (queue === undefined) return emptyReport;
    for (;;) {
      if (whenDelivered) await queue.whenDelivered(shardKey.shard);
      const report = await this.#receiver.reportReceived(sender, shardKey);
      this.#assertOpen();
      if (!whenDelivered) return { ...report, allDelivered: false };
      // The report may include a batch that has just arrived and is not delivered yet.
      if (!queue.isDelivered(shardKey.shard)) continue;
      // The consumers of the last messages must see them before the sender delivers the messages behind them.
      await new Promise<void>((resolve) => this.#options.ports.timers.nextTurn(resolve));
      return { ...report, allDelivered: true };
    }
  }

  recall({ queueId, shard }: ShardKey): void {
    this.#queues.get(queueId)?.recall(shard);
  }

  /** After a failure the file may have a batch that memory does not know, so a report could miss it. */
  #assertOpen(): void {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED');
    const { failure } = this.#options.group;
    if (failure !== undefined) throw failure;
  }

  /** Undefined if the catalog has no such queue or the queue does not forward. */
  #findQueue(queueId: QueueId): QueueForwarding | undefined {
    if (this.#options.findQueue(queueId) === undefined) return undefined;
    return this.#queues.get(queueId);
  }

  async #runInBackground(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // Calls that other instances or the storage refuse are retried when something changes. A broken invariant has stopped the
      // instance already.
      if (error instanceof QueueError || error instanceof InterconnectUnavailable) return;
      if (error instanceof ForwardingClosed) return;
      this.#options.onFatal(stopReason(error));
    }
  }

  async close(): Promise<void> {
    await this.disconnect();
    this.#closed = true;
    for (const queue of this.#queues.values()) queue.close();
  }
}
