/** Deliveries of sharded queues to one consumer, ahead of its calls. */

import type { Message } from '../api/message.ts';
import type { Delivery } from '../log/delivery.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import type { SessionNumber } from '../model/ids.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type {
  DeliveryPipeline,
  MaybeLater,
  PipelineSource,
  QueueTransaction,
  ValidDequeueOptions,
} from './queue-engine.ts';
import { ShardedTransaction, type ShardedTransactions } from './sharded-transaction.ts';

export class ShardedPipelines implements PipelineSource {
  readonly #transactions: ShardedTransactions;

  constructor(transactions: ShardedTransactions) {
    this.#transactions = transactions;
  }

  open(session: SessionNumber): ShardedPipeline {
    return new ShardedPipeline(this.#transactions, session);
  }
}

export class ShardedPipeline implements DeliveryPipeline {
  readonly #transactions: ShardedTransactions;
  readonly #session: SessionNumber;
  /** Deliveries in the order in which they were made. */
  #deliveries: Delivery[] = [];
  #size = 0;

  constructor(transactions: ShardedTransactions, session: SessionNumber) {
    this.#transactions = transactions;
    this.#session = session;
  }

  get size(): number {
    return this.#size;
  }

  deliver(row: QueueRow, options: ValidDequeueOptions): Promise<Message[]> {
    const { queues, dispatcher } = this.#transactions.context;
    const ofSession = { ...options, session: this.#session };
    return dispatcher.deliver(queues.getOrCreate(row), ofSession, this.#addDelivery);
  }

  readonly #addDelivery = (delivery: Delivery): void => {
    this.#deliveries.push(delivery);
    this.#size += delivery.count;
  };

  consumeIn(transaction: QueueTransaction, row: QueueRow, count: number): void {
    if (!(transaction instanceof ShardedTransaction))
      throw new TypeError('Deliveries of sharded queues are consumed in a transaction on sharded queues');
    transaction.consumeDelivered(row, this.#take(count));
  }

  consume(row: QueueRow, count: number): MaybeLater<void> {
    const transaction = this.#transactions.beginTransaction(this.#session, undefined);
    transaction.consumeDelivered(row, this.#take(count));
    if (row.visibility === 'immediate') transaction.commitNow();
    else return transaction.commit().then(() => undefined);
  }

  returnAll(seen: number, how?: ValidReturn): Promise<void> | undefined {
    const { dispatcher } = this.#transactions.context;
    const first = this.#take(Math.min(seen, this.#size));
    return dispatcher.returnDeliveries({ seen: first, unseen: this.#take(this.#size) }, how);
  }

  returnUnseen(seen: number): void {
    const kept = this.#take(seen);
    const { dispatcher } = this.#transactions.context;
    void dispatcher.returnDeliveries({ seen: [], unseen: this.#take(this.#size) });
    this.#deliveries = kept;
    this.#size = seen;
  }

  /** Removes the first `count` messages, at most `size`. */
  #take(count: number): Delivery[] {
    let missing = count;
    let whole = 0;
    while (missing > 0 && this.#deliveries[whole]!.count <= missing) {
      missing -= this.#deliveries[whole]!.count;
      whole += 1;
    }
    const taken = this.#deliveries.splice(0, whole);
    if (missing > 0) {
      const held = this.#deliveries[0]!;
      const [first, rest] = held.cursor.deliveries.splitHeld(held, missing);
      taken.push(first);
      this.#deliveries[0] = rest;
    }
    this.#size -= count;
    return taken;
  }
}
