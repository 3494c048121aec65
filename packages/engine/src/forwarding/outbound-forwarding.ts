/**
 * Moves messages of one shard from this instance to others, or, if another instance owns the shard, back to its owner. It
 * is also the delivery gate of the shard's logs here: while messages that moved may not have been delivered, the ones
 * behind them wait.
 *
 * Before the first batch goes to a receiver, the file records that this receiver must be asked after a crash (`open`). A
 * batch is then sent without another write, committed by the receiver, and consumed here as moved; then the next may go.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { type Delivery, traceDelivery } from '../log/delivery.ts';
import type { DeliveryGate, SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { ShardKey } from '../model/forwarded-batch.ts';
import type { ForwardedOutRow } from '../model/forwarding-row.ts';
import {
  canDeliverLocally,
  type ForwardingCommand,
  type ForwardingState,
  isUnconsumed,
} from '../model/forwarding-state.ts';
import type { IdRun } from '../model/id-runs.ts';
import type { BatchNumber, InstanceId, Seq } from '../model/ids.ts';
import { encodeBatch } from './encode-batch.ts';
import { ForwardingLedger, type ForwardingLedgerOptions } from './forwarding-ledger.ts';
import type { Peer } from './interconnect.ts';
import { ReceiverContact } from './receiver-contact.ts';
import type { RetryPause } from './retry-pause.ts';
import { takeAboveSeq } from './returned-order.ts';
import { cancelDeliveries, takeBatch } from './take-batch.ts';

export interface OutboundForwardingHost {
  readonly retryPause: RetryPause;
  /** Undefined while there is no way to other instances. */
  peer(instance: InstanceId): Peer | undefined;
  nextBatchNumber(): BatchNumber;
  /** Brings the next messages of a cursor into memory; undefined if there is nothing to read. */
  readAhead(cursor: SubscriberCursor): Promise<void> | undefined;
  /** Resolves once no batch of the shard is being committed here. */
  whenReceiverIdle(shard: ShardKey): Promise<void>;
  /** Called when messages may have become deliverable, here or for other instances. */
  onChange(): void;
  /** Runs work that no caller waits for, and handles what it throws. */
  runInBackground(work: () => Promise<void>): Promise<void>;
}

export interface OutboundForwardingOptions extends ForwardingLedgerOptions {
  /** Another instance owns the shard. */
  returnsToOwner: boolean;
  host: OutboundForwardingHost;
}

/** Messages to commit again behind a returned batch, and the row that counts them. */
export interface RecommittedMessages {
  deliveries: readonly Delivery[];
  row: ForwardedOutRow;
}

type SendResult = 'accepted' | 'refused' | 'nothingReady';

export class OutboundForwarding implements DeliveryGate {
  readonly returnsToOwner: boolean;
  readonly #ledger: ForwardingLedger;
  readonly #host: OutboundForwardingHost;
  readonly #contact: ReceiverContact;
  /** The cursors of the shard's logs, in delivery order. */
  #cursors: readonly SubscriberCursor[] = [];
  /** The batch in flight, until its messages are consumed or ready again. */
  #sentBatch: { batchNumber: BatchNumber; deliveries: readonly Delivery[] } | undefined;
  /** Only one operation runs at a time. */
  #operation: Promise<unknown> | undefined;
  #awaitsDelivery = false;
  /** Returned messages are being committed again in a new order. */
  #reordering = false;

  constructor({ returnsToOwner, host, ...options }: OutboundForwardingOptions) {
    this.#ledger = new ForwardingLedger(options);
    this.returnsToOwner = returnsToOwner;
    this.#host = host;
    this.#contact = new ReceiverContact({
      shardKey: options.shardKey,
      peer: (instance) => host.peer(instance),
      retryPause: host.retryPause,
    });
  }

  /** Sets the cursors of the shard's logs here. Messages that returned must come before those that never left. */
  setCursors(cursors: readonly SubscriberCursor[]): void {
    this.#cursors = cursors;
    for (const cursor of cursors) cursor.deliveryGate = this;
  }

  canDeliver(cursor: SubscriberCursor): boolean {
    if (this.#reordering || !canDeliverLocally(this.state, this.returnsToOwner)) return false;
    for (const earlier of this.#cursors) {
      if (earlier === cursor) return true;
      if (earlier.ready > 0) return false;
    }
    return false;
  }

  get shardKey(): ShardKey {
    return this.#ledger.shardKey;
  }

  get state(): ForwardingState {
    return this.#ledger.state;
  }

  /** The instance that has the forwarded messages; 0 while the state is `closed`. */
  get receiver(): InstanceId {
    return this.#ledger.receiver;
  }

  get forwardedOut(): number {
    return this.#ledger.forwardedOut;
  }

  get busy(): boolean {
    return this.#operation !== undefined;
  }

  /** Messages here that are not held. */
  get ready(): number {
    return this.#cursors.reduce((sum, cursor) => sum + cursor.ready, 0);
  }

  /** The cursor with the shard's next ready message; undefined if none is ready. */
  get nextCursor(): SubscriberCursor | undefined {
    return this.#cursors.find((cursor) => cursor.ready > 0);
  }

  canForwardTo(receiver: InstanceId): boolean {
    if (this.busy || this.returnsToOwner) return false;
    if (this.state === 'forwarded') return this.receiver === receiver;
    return this.state === 'closed' || this.state === 'open';
  }

  /** Sends one batch of up to `messagesMax` messages. */
  forwardBatch(peer: Peer, messagesMax: number): Promise<SendResult> {
    return this.#exclusively(async () => {
      await this.#ledger.open(peer.instance);
      return this.#sendBatch(peer, messagesMax);
    });
  }

  /** Sends everything that is not held to the shard's owner. Rejects, without any effect, if it cannot be reached. */
  returnToOwner(owner: Peer): Promise<void> {
    return this.#exclusively(async () => {
      if (this.state === 'closed') {
        await owner.reportReceived(this.shardKey, { whenDelivered: false });
        await this.#ledger.open(owner.instance);
      }
      await this.#host.whenReceiverIdle(this.shardKey); // later batches are refused
      for (let cursor = this.nextCursor; cursor !== undefined; cursor = this.nextCursor) {
        if (cursor.needsRead) await this.#host.readAhead(cursor);
        const result = await this.#sendBatch(owner, limits.forwardBatchMessagesMax);
        if (result === 'refused') await this.#host.retryPause.wait();
        else if (result === 'nothingReady' && cursor.needsRead) break; // the next message is damaged
      }
      await this.#ledger.close();
    });
  }

  /** Call it when other instances can be reached, for the first time or again. */
  async resume(): Promise<void> {
    if (this.state === 'inDoubt' && !this.busy) await this.#exclusively(() => this.#resolveInDoubt());
    if (this.state === 'forwarded') this.#awaitDelivery();
  }

  /** Records that no receiver has to be asked after a crash, if that is so. */
  async close(): Promise<void> {
    if (this.state === 'open' && !this.busy) await this.#exclusively(() => this.#ledger.close());
  }

  /** Waits for the running operation, then closes unless messages are still undelivered elsewhere. */
  async finishAndClose(): Promise<void> {
    await this.#operation?.catch(() => undefined);
    if (!this.returnsToOwner) await this.close();
  }

  /** Asks the receiver to send back what it has not delivered, because consumers wait here. */
  recall(): void {
    if (!this.returnsToOwner && this.state === 'forwarded') this.#contact.recall(this.receiver);
  }

  /**
   * Lets `commit` store a batch that returns to this instance, the shard's owner. `commit` is given the messages that
   * returned earlier with numbers above `lastSeq`, the highest one of the batch, to store them again behind it. Resolves
   * with false, without a commit, while it is in doubt which messages are elsewhere.
   */
  async acceptReturned(
    lastSeq: Seq,
    commit: (recommitted: RecommittedMessages | undefined) => Promise<void>,
  ): Promise<boolean> {
    while (this.#operation !== undefined) await this.#operation.catch(() => undefined);
    if (this.state === 'inDoubt') return false;
    await this.#exclusively(async () => {
      this.#reordering = true;
      let deliveries: Delivery[] = [];
      try {
        deliveries = await this.#takeReturnedAbove(lastSeq);
        const row = this.#ledger.rowWithForwarded(deliveries.reduce((sum, { count }) => sum + count, 0));
        await commit(deliveries.length === 0 ? undefined : { deliveries, row });
        if (deliveries.length > 0) this.#ledger.recordCommittedRow(row);
      } catch (error) {
        cancelDeliveries(deliveries);
        throw error;
      } finally {
        this.#reordering = false;
      }
    });
    return true;
  }

  async #takeReturnedAbove(seq: Seq): Promise<Delivery[]> {
    const { shard: logId } = this.shardKey;
    const cursor = this.#cursors.find(({ log }) => log.id !== logId);
    if (cursor === undefined || seq === 0) return [];
    return takeAboveSeq(cursor, { seq, logId, readAhead: () => this.#host.readAhead(cursor) });
  }

  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const operation = work();
    this.#operation = operation;
    try {
      return await operation;
    } finally {
      this.#operation = undefined;
      this.#host.onChange();
    }
  }

  #apply(command: ForwardingCommand): void {
    this.#ledger.apply(command);
    this.#contact.allowRecall();
  }

  async #sendBatch(peer: Peer, messagesMax: number): Promise<SendResult> {
    this.#ledger.assertRecorded();
    const deliveries = takeBatch(this.#cursors, messagesMax);
    if (deliveries.length === 0) return 'nothingReady';
    const batchNumber = this.#host.nextBatchNumber();
    this.#sentBatch = { batchNumber, deliveries };
    const batch = { ...this.shardKey, batchNumber, ...encodeBatch(deliveries) };
    this.#apply('send');
    let accepted: boolean;
    try {
      accepted = await peer.forward(batch);
    } catch {
      this.#apply('loseConnection');
      return (await this.#resolveInDoubt()) ? 'accepted' : 'refused';
    }
    await this.#finishBatch(accepted);
    return accepted ? 'accepted' : 'refused';
  }

  /** Asks the receiver whether the last batch arrived, and finishes the batch accordingly. Returns the answer. */
  async #resolveInDoubt(): Promise<boolean> {
    const { batchNumber, sourceRuns } = await this.#contact.askForReport(this.receiver, {
      whenDelivered: false,
    });
    const arrived = isUnconsumed(batchNumber, this.#ledger.lastConsumedBatch);
    const deliveries = this.#sentBatch?.deliveries ?? (arrived ? this.#holdSentMessages(sourceRuns) : []);
    this.#sentBatch = { batchNumber, deliveries };
    await this.#finishBatch(arrived);
    return arrived;
  }

  /** Holds the messages of a batch that an earlier process sent. */
  #holdSentMessages(sourceRuns: readonly IdRun[]): Delivery[] {
    return sourceRuns.flatMap(({ shard, firstSeq, count }) => {
      const cursor = this.#cursors.find(({ log }) => log.id === shard);
      return cursor === undefined ? [] : cursor.holdUnread(firstSeq, count);
    });
  }

  async #finishBatch(accepted: boolean): Promise<void> {
    const { batchNumber, deliveries } = this.#sentBatch!;
    if (accepted) {
      this.#apply('accept');
      for (const delivery of deliveries) traceDelivery('forwarded', delivery, { amount: this.receiver });
      await this.#consumeForwarded(batchNumber, deliveries);
    } else {
      cancelDeliveries(deliveries);
      this.#apply('refuse');
    }
    this.#sentBatch = undefined;
    if (this.state !== 'forwarded') return;
    // Of returned messages, the owner keeps the order: nothing here waits for their delivery.
    if (this.returnsToOwner) this.#apply('finishDelivery');
    else this.#awaitDelivery();
  }

  /** The receiver has the batch, so it must be consumed here: repeats while the file is full or locked. */
  async #consumeForwarded(batchNumber: BatchNumber, deliveries: readonly Delivery[]): Promise<void> {
    for (;;) {
      try {
        return await this.#ledger.consumeForwarded(batchNumber, deliveries);
      } catch (error) {
        if (!(error instanceof QueueError) || hasInstanceEnded(error)) throw error;
      }
      await this.#host.retryPause.wait();
    }
  }

  /** Waits in the background until the receiver has delivered everything that it was sent. */
  #awaitDelivery(): void {
    if (this.#awaitsDelivery) return;
    this.#awaitsDelivery = true;
    void this.#host.runInBackground(async () => {
      try {
        while (this.state === 'forwarded') {
          const { batchNumber } = await this.#contact.askForReport(
            this.receiver,
            { whenDelivered: true },
            () => this.#host.onChange(),
          );
          // Another batch may have been sent meanwhile. While it is in flight there is nothing to conclude: finishing it
          // asks again. Once it is consumed, an answer about the batches before it does not count.
          if (this.state !== 'forwarded') break;
          if (batchNumber >= this.#ledger.lastConsumedBatch) this.#apply('finishDelivery');
          else await this.#host.retryPause.wait();
        }
      } finally {
        this.#awaitsDelivery = false;
      }
      this.#host.onChange();
    });
  }
}

/** Nothing more can be committed here. Whichever process opens the instance next asks the receiver. */
function hasInstanceEnded({ code }: QueueError): boolean {
  return code === 'INSTANCE_FAILED' || code === 'INSTANCE_FENCED' || code === 'INVARIANT_BROKEN';
}
