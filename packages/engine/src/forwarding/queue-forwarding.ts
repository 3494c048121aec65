/**
 * Forwarding of one queue at one instance: when to request messages from other instances, which of them to serve, and when
 * messages return to their owner. Only an instance without a consumer sends messages: no call waits for the queue, and none has
 * dequeued from it for `consumerIdleMs`.
 *
 * All of this is decided in `#reconcile`, which runs whenever something may have changed. Nothing is polled.
 */

import { QueueError } from '../api/errors.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { ShardKey } from '../model/forwarded-batch.ts';
import type { ForwardedOutRow } from '../model/forwarding-row.ts';
import type { BatchNumber, InstanceId, LogId } from '../model/ids.ts';
import { originalLogId, owningInstance } from '../model/log-id.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { BacklogReader } from '../queues/backlog-reader.ts';
import type { QueueForwardingPort } from '../queues/queue-forwarding-port.ts';
import type { ShardedQueue, Subscription } from '../queues/sharded-queues.ts';
import { BatchRequester } from './batch-requester.ts';
import { BatchRequests } from './batch-requests.ts';
import { DeliveryCompletion } from './delivery-completion.ts';
import type { ForwardTarget } from './forward-receiver.ts';
import type { Peer } from './interconnect.ts';
import type { OutboundForwarding } from './outbound-forwarding.ts';
import { OutboundForwardings } from './outbound-forwardings.ts';
import { RetryPause } from './retry-pause.ts';

export interface QueueForwardingHost {
  readonly instance: InstanceId;
  readonly group: GroupCommit;
  readonly backlog: BacklogReader;
  readonly ports: Pick<Ports, 'clock' | 'timers'>;
  /** A queue without a dequeue for this long has no consumer here. */
  consumerIdleMs(): number;
  /** The other instances that can be asked; empty while there is no way to them. */
  peers(): readonly InstanceId[];
  peer(instance: InstanceId): Peer | undefined;
  nextBatchNumber(): BatchNumber;
  /** Resolves once no batch of the shard is being committed here. */
  whenReceiverIdle(shard: ShardKey): Promise<void>;
  /** Whether messages may be delivered at all. */
  mayDeliver(): boolean;
  /** False once the instance is leaving the cluster. */
  acceptsMessages(): boolean;
  /** Runs work that no caller waits for, and handles what it throws. */
  runInBackground(work: () => Promise<void>): Promise<void>;
}

interface ConsumerState {
  nowMs: number;
  hasWaiters: boolean;
  /** Somebody waits, or dequeued a short while ago. */
  hasConsumers: boolean;
}

export class QueueForwarding implements QueueForwardingPort {
  readonly #queue: ShardedQueue;
  readonly #subscription: Subscription;
  readonly #host: QueueForwardingHost;
  readonly #retryPause: RetryPause;
  readonly #batchRequester: BatchRequester;
  readonly #batchRequests: BatchRequests;
  readonly #outbounds: OutboundForwardings;
  readonly #returningOrClosing = new Set<OutboundForwarding>();
  readonly #deliveryCompletion = new DeliveryCompletion((logId) => this.isDelivered(logId));
  #lastDequeueAtMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #isReconciling = false;
  #isDisconnected = true;

  /** `rows` are the queue's forwarding rows in the file. */
  constructor(queue: ShardedQueue, host: QueueForwardingHost, rows: readonly ForwardedOutRow[]) {
    this.#queue = queue;
    this.#subscription = queue.subscription(undefined);
    this.#host = host;
    this.#retryPause = new RetryPause(host.ports.timers);
    this.#batchRequests = new BatchRequests(host.ports.clock);
    this.#batchRequester = new BatchRequester({
      queueId: queue.row.queueId,
      clock: host.ports.clock,
      peers: () => host.peers(),
      peer: (instance) => host.peer(instance),
      runInBackground: (work) => host.runInBackground(work),
      pauseAfterFailure: () => this.#retryPause.wait(),
      onRequestEnded: () => this.#reconcile(),
    });
    this.#outbounds = new OutboundForwardings({
      queue,
      instance: host.instance,
      group: host.group,
      rows,
      host: {
        retryPause: this.#retryPause,
        peer: (instance) => host.peer(instance),
        nextBatchNumber: () => host.nextBatchNumber(),
        readAhead: (cursor) => this.#readAhead(cursor),
        whenReceiverIdle: (shard) => host.whenReceiverIdle(shard),
        onChange: () => queue.serveWaiters(),
        runInBackground: (work) => host.runInBackground(work),
      },
    });
    // Consumers of a backlog from before the instance opened get the time to reconnect.
    if (queue.logs.some(({ backlog }) => backlog > 0)) this.#lastDequeueAtMs = this.#nowMs;
  }

  onLogAdded(logId: LogId): void {
    this.#outbounds.getOrCreate(originalLogId(logId));
  }

  get forwardedOut(): number {
    return this.#outbounds.forwardedOut;
  }

  /** No operation is running, and no forwarded message waits for its delivery at another instance. */
  get isQuiescent(): boolean {
    return this.#outbounds.areQuiescent;
  }

  onDequeue(foundMessages: boolean): void {
    this.#lastDequeueAtMs = this.#nowMs;
    if (this.#outbounds.size > 0 || (!foundMessages && this.#host.peers().length > 0)) this.#reconcile();
  }

  onReady(): void {
    if (this.#outbounds.size + this.#batchRequests.size > 0) this.#reconcile();
  }

  /** Call it when other instances can be reached, and when some were added or removed. */
  onPeersChanged(): void {
    this.#isDisconnected = false;
    for (const outbound of this.#outbounds) void this.#host.runInBackground(() => outbound.resume());
    this.#reconcile();
  }

  /** Call it for every batch that arrives, requested or not. */
  onBatchArrived(count: number): void {
    this.#batchRequester.onBatchArrived(count);
    this.#reconcile();
  }

  /** Another instance requests a batch. Resolves when it was sent, or the request cancelled. */
  requestBatch(peer: InstanceId, messagesMax: number): Promise<void> {
    const served = this.#batchRequests.add(peer, messagesMax);
    this.#reconcile();
    return served;
  }

  cancelRequest(peer: InstanceId): void {
    this.#batchRequests.cancel(peer);
  }

  /** The owner of a shard asks for its undelivered messages. */
  recall(logId: LogId): void {
    const outbound = this.#outbounds.get(logId);
    if (outbound?.returnsToOwner) this.#returnToOwner(outbound);
  }

  /** Where to store messages of a shard; undefined while earlier ones of it return to their owner. */
  forwardTargetOf(logId: LogId): ForwardTarget | undefined {
    const queue = this.#queue;
    if (owningInstance(logId) === this.#host.instance)
      return { queue, outbound: this.#outbounds.getOrCreate(logId) };
    const isClosed = (this.#outbounds.get(logId)?.state ?? 'closed') === 'closed';
    return this.#host.acceptsMessages() && isClosed ? { queue, outbound: undefined } : undefined;
  }

  /** Resolves when `isDelivered`. Rejects when the queue is closed. */
  whenDelivered(logId: LogId): Promise<void> {
    return this.#deliveryCompletion.waitFor(logId);
  }

  /** Whether no message of the shard that came here waits for its first delivery or its return. */
  isDelivered(logId: LogId): boolean {
    const outbound = this.#outbounds.get(logId);
    return outbound === undefined || (outbound.state === 'closed' && outbound.ready === 0);
  }

  get #nowMs(): number {
    return this.#host.ports.clock.monotonicMs();
  }

  #reconcile(): void {
    if (this.#isDisconnected || this.#isReconciling || this.#retryPause.closed) return;
    this.#isReconciling = true; // the steps below may call this again
    const nowMs = this.#nowMs;
    const hasWaiters = this.#subscription.hasWaiters;
    const hasConsumers = hasWaiters || nowMs - this.#lastDequeueAtMs < this.#host.consumerIdleMs();
    const consumers: ConsumerState = { nowMs, hasWaiters, hasConsumers };
    this.#deliveryCompletion.check();
    if (hasConsumers) this.#requestFromPeers();
    else {
      this.#batchRequester.cancelRequests();
      this.#servePeers();
    }
    for (const outbound of this.#outbounds) this.#reconcileOutbound(outbound, consumers);
    this.#scheduleReconcile(consumers);
    this.#isReconciling = false;
  }

  /** Requests messages for the consumers here, unless this instance has some of its own. */
  #requestFromPeers(): void {
    if (!this.#host.acceptsMessages()) return;
    let ready = 0;
    for (const cursor of this.#subscription.cursors) {
      if (cursor.ready === 0 || cursor.deliveryGate?.canDeliver(cursor) === false) continue;
      if (!this.#outbounds.isForeignLog(cursor.log.id)) return;
      ready += cursor.ready;
    }
    this.#batchRequester.requestIfLow(ready);
  }

  #servePeers(): void {
    if (!this.#host.mayDeliver()) return;
    for (const instance of this.#batchRequests.peers()) {
      const peer = this.#host.peer(instance);
      const outbound = peer && this.#outbounds.nextForReceiver(instance);
      if (peer !== undefined && outbound !== undefined)
        void this.#host.runInBackground(() => this.#forwardTo(outbound, peer));
    }
  }

  async #forwardTo(outbound: OutboundForwarding, peer: Peer): Promise<void> {
    const { messagesMax, resolve } = this.#batchRequests.take(peer.instance);
    try {
      // Without the pause the peer would repeat its request at once, and get the same answer.
      if ((await outbound.forwardBatch(peer, messagesMax)) !== 'accepted') await this.#retryPause.wait();
    } catch (error) {
      await this.#retryPause.wait();
      throw error;
    } finally {
      resolve();
    }
  }

  #reconcileOutbound(outbound: OutboundForwarding, { nowMs, hasWaiters, hasConsumers }: ConsumerState): void {
    if (outbound.returnsToOwner) {
      // Once some messages of the shard have returned, the others must follow, even if calls wait for them here.
      if (outbound.state === 'open' || !hasConsumers) this.#returnToOwner(outbound);
    } else if (hasWaiters) outbound.recall();
    else if (outbound.state === 'open' && nowMs >= this.#closeAtMs(outbound))
      this.#runExclusively(outbound, () => outbound.close());
  }

  /** A forwarding stays open while its receiver requests more, because opening it again would cost a commit. */
  #closeAtMs({ receiver }: OutboundForwarding): number {
    return this.#batchRequests.lastRequestedAtMs(receiver) + this.#host.consumerIdleMs();
  }

  #returnToOwner(outbound: OutboundForwarding): void {
    const owner = this.#host.peer(owningInstance(outbound.shardKey.shard));
    if (owner === undefined) return;
    const cursor = outbound.nextCursor;
    const hasReadable = cursor !== undefined && !(cursor.needsRead && this.#host.backlog.damageAhead(cursor));
    if (outbound.state === 'open' || (outbound.state === 'closed' && hasReadable)) {
      this.#runExclusively(outbound, () => outbound.returnToOwner(owner));
    }
  }

  #runExclusively(outbound: OutboundForwarding, work: () => Promise<void>): void {
    if (outbound.busy || this.#returningOrClosing.has(outbound)) return;
    this.#returningOrClosing.add(outbound);
    void this.#host.runInBackground(async () => {
      try {
        await work();
      } catch (error) {
        await this.#retryPause.wait();
        throw error;
      } finally {
        this.#returningOrClosing.delete(outbound);
        this.#reconcile();
      }
    });
  }

  /** Sets the timer for the moment when consumers count as gone, or a forwarding can be closed. */
  #scheduleReconcile({ nowMs, hasWaiters, hasConsumers }: ConsumerState): void {
    const goesIdle = hasConsumers && !hasWaiters;
    let atMs = goesIdle ? this.#lastDequeueAtMs + this.#host.consumerIdleMs() : Number.POSITIVE_INFINITY;
    for (const outbound of this.#outbounds) {
      if (outbound.state === 'open' && !outbound.busy) atMs = Math.min(atMs, this.#closeAtMs(outbound));
    }
    this.#timer?.cancel();
    if (atMs === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.max(1, atMs - nowMs + 1);
    this.#timer = this.#host.ports.timers.after(delayMs, () => this.#reconcile());
  }

  /** Undefined if nothing can be read because of damage. The end of a read calls `onReady`. */
  #readAhead(cursor: SubscriberCursor): Promise<void> | undefined {
    this.#host.backlog.readAhead(cursor);
    const read = this.#host.backlog.pendingRead([cursor]);
    read?.catch(() => undefined); // the backlog reader reports it to the waiting consumers
    return read;
  }

  /** Starts nothing more until `onPeersChanged`. Resolves once running operations have ended. */
  async disconnect(): Promise<void> {
    this.#isDisconnected = true;
    await Promise.allSettled([...this.#outbounds].map((outbound) => outbound.finishAndClose()));
  }

  /** The queue was dropped, or the instance ends. */
  close(): void {
    this.#retryPause.close();
    this.#timer?.cancel();
    this.#batchRequests.cancelAll();
    this.#deliveryCompletion.rejectAll(new QueueError('INSTANCE_CLOSED'));
  }
}
