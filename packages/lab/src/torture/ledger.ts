/**
 * The known state of every item of one data folder, from the notes of its processes, and hence what an inspection of the
 * folder must find. A transaction that was not acknowledged is open until the next inspection, which must find it either
 * complete or absent and settles its outcome.
 */
import { type Item, parseItem } from './item.ts';
import { type Delivered, isForwardedShard, type Note } from './notes.ts';

export interface Faults {
  lost: Item[];
  duplicated: Item[];
  damaged: string[];
  outOfOrder: Item[];
  /** Transactions of which only a part was found. */
  torn: string[];
  /** Items that were never enqueued, or whose transaction was refused. */
  unknown: Item[];
  /** Processes that failed or hung. */
  failed: string[];
}

const noFaults = (): Faults => ({
  lost: [],
  duplicated: [],
  damaged: [],
  outOfOrder: [],
  torn: [],
  unknown: [],
  failed: [],
});

interface Transaction {
  name: string;
  enqueues: Item[];
  consumes: Item[];
  state: 'open' | 'committed' | 'refused';
}

interface ItemState {
  /** The enqueue was acknowledged, or the item was seen. */
  isEnqueued: boolean;
  /** Unacknowledged transactions that would have consumed the item. */
  openConsumers: Set<Transaction>;
}

/** Counts of acknowledged work, and the faults found. */
export interface LedgerTotals {
  commits: number;
  enqueued: number;
  consumed: number;
  faults: Faults;
}

export function hasFaults({ faults }: Pick<LedgerTotals, 'faults'>): boolean {
  return Object.values<string[]>({ ...faults }).some((list) => list.length > 0);
}

const noTotals = (): LedgerTotals => ({ commits: 0, enqueued: 0, consumed: 0, faults: noFaults() });

/** Totals that contain only a failure, for errors outside a ledger. */
export function totalsOfFailure(text: string): LedgerTotals {
  const totals = noTotals();
  totals.faults.failed.push(text);
  return totals;
}

export class Ledger {
  readonly #sharedOrder: boolean;
  #totals = noTotals();
  readonly #items = new Map<Item, ItemState>();
  readonly #consumedItems = new Set<Item>();
  #transactions = new Map<string, Transaction>();
  /** By process: after a restart, messages that an earlier process delivered may be delivered first again. */
  readonly #orderByProcess = new Map<string, DeliveryOrder>();
  /** For shards whose messages are forwarded between processes. */
  readonly #forwardedOrder: DeliveryOrder;

  /**
   * `sharedOrder`: whether the delivery order of a queue that all instances share (unsharded or forwarding) can be
   * observed.
   */
  constructor({ sharedOrder }: { sharedOrder: boolean }) {
    this.#sharedOrder = sharedOrder;
    this.#forwardedOrder = new DeliveryOrder(sharedOrder);
  }

  get #faults(): Faults {
    return this.#totals.faults;
  }

  /** Returns the totals since the last call. */
  takeTotals(): LedgerTotals {
    const totals = this.#totals;
    this.#totals = noTotals();
    return totals;
  }

  recordFailure(text: string): void {
    this.#faults.failed.push(text);
  }

  /** To be called with the notes of all processes in order of time. */
  recordNote(note: Note, processName: string): void {
    switch (note.kind) {
      case 'about':
        this.#recordAttempt(note);
        break;
      case 'committed':
        this.#recordCommitted(this.#transactions.get(note.transaction)!);
        break;
      case 'refused':
        this.#recordRefused(this.#transactions.get(note.transaction)!);
        break;
      case 'delivered':
        this.#recordDelivered(note.delivered, processName);
        break;
      case 'damaged':
        this.#faults.damaged.push(note.text);
        break;
      case 'failed':
        this.#faults.failed.push(note.text);
        break;
      default:
        break;
    }
  }

  #recordAttempt({ transaction: name, enqueues, consumes }: Extract<Note, { kind: 'about' }>): void {
    const transaction: Transaction = { name, enqueues, consumes, state: 'open' };
    this.#transactions.set(name, transaction);
    for (const item of enqueues) this.#items.set(item, { isEnqueued: false, openConsumers: new Set() });
    for (const item of consumes) this.#items.get(item)?.openConsumers.add(transaction);
  }

  #recordCommitted(transaction: Transaction): void {
    transaction.state = 'committed';
    this.#totals.commits += 1;
    this.#totals.enqueued += transaction.enqueues.length;
    this.#totals.consumed += transaction.consumes.length;
    for (const item of transaction.enqueues) {
      const entry = this.#items.get(item);
      if (entry !== undefined) entry.isEnqueued = true;
    }
    for (const item of transaction.consumes) {
      if (this.#consumedItems.has(item)) this.#faults.duplicated.push(item);
      this.#consumedItems.add(item);
      this.#items.delete(item);
    }
  }

  #recordRefused(transaction: Transaction): void {
    transaction.state = 'refused';
    for (const item of transaction.enqueues) this.#items.delete(item);
    for (const item of transaction.consumes) this.#items.get(item)?.openConsumers.delete(transaction);
  }

  #recordDelivered(deliveries: readonly Delivered[], processName: string): void {
    const order = this.#orderByProcess.get(processName) ?? new DeliveryOrder(this.#sharedOrder);
    this.#orderByProcess.set(processName, order);
    for (const delivery of deliveries) {
      const { item } = delivery;
      const entry = this.#items.get(item);
      if (entry !== undefined) entry.isEnqueued = true;
      else if (this.#consumedItems.has(item)) this.#faults.duplicated.push(item);
      else this.#faults.unknown.push(item);
      if (this.#orderOf(delivery, order).recordAndCheckBroken(delivery)) this.#faults.outOfOrder.push(item);
    }
  }

  #orderOf({ shard }: Delivered, processOrder: DeliveryOrder): DeliveryOrder {
    return isForwardedShard(shard) ? this.#forwardedOrder : processOrder;
  }

  /**
   * A process ended. It may not have noted its last deliveries, which are then delivered again to others, after later
   * messages. These are the first items of each session that no process has noted.
   */
  recordProcessEnd(): void {
    const unseen = [...this.#items.keys()].filter((item) => !this.#forwardedOrder.hasSeen(item));
    for (const items of Map.groupBy(unseen, (item) => parseItem(item).session).values()) {
      items.sort((a, b) => parseItem(a).sequence - parseItem(b).sequence);
      for (const item of items.slice(0, unreportedMax)) this.#forwardedOrder.markSeen(item);
    }
  }

  /** Compares the ledger with everything found in the folder, in delivery order. The findings become the new known state. */
  compareWithFound(found: readonly Delivered[]): void {
    const seen = new Set<Item>();
    const order = new DeliveryOrder(this.#sharedOrder);
    for (const delivery of found) {
      const { item } = delivery;
      if (seen.has(item)) this.#faults.duplicated.push(item);
      seen.add(item);
      const entry = this.#items.get(item);
      if (entry !== undefined) entry.isEnqueued = true;
      else (this.#consumedItems.has(item) ? this.#faults.duplicated : this.#faults.unknown).push(item);
      if (this.#orderOf(delivery, order).recordAndCheckBroken(delivery)) this.#faults.outOfOrder.push(item);
    }
    for (const transaction of this.#transactions.values()) {
      if (transaction.state === 'open') this.#checkAtomicity(transaction, seen);
    }
    for (const [item, { isEnqueued, openConsumers }] of this.#items) {
      if (seen.has(item)) openConsumers.clear();
      else {
        if (isEnqueued && openConsumers.size === 0) this.#faults.lost.push(item);
        this.#items.delete(item);
        if (isEnqueued) this.#consumedItems.add(item);
      }
    }
    this.#transactions = new Map();
    this.#orderByProcess.clear();
  }

  /** Either all items it enqueues exist and all items it consumes are gone, or neither; items that other open transactions may have consumed prove nothing. */
  #checkAtomicity(transaction: Transaction, seen: ReadonlySet<Item>): void {
    const { name, enqueues, consumes } = transaction;
    const done = enqueues.map(
      (item) => this.#consumedItems.has(item) || (this.#items.get(item)?.isEnqueued ?? false),
    );
    for (const item of consumes) {
      if (seen.has(item)) done.push(false);
      else if (!this.#mayBeConsumedByOthers(item, transaction)) done.push(true);
    }
    if (done.some((isDone) => isDone !== done[0])) this.#faults.torn.push(name);
  }

  #mayBeConsumedByOthers(item: Item, transaction: Transaction): boolean {
    const consumers = this.#items.get(item)?.openConsumers;
    return consumers === undefined || consumers.size > 1 || !consumers.has(transaction);
  }
}

/** Upper bound on the messages of one workload that were delivered to a process and not yet noted by it. */
export const unreportedMax = 24;

/** Within a shard, first deliveries of a session's items must be in the order of their sequence numbers. */
class DeliveryOrder {
  readonly #sharedOrder: boolean;
  readonly #last = new Map<string, number>();
  readonly #seen = new Set<Item>();

  constructor(sharedOrder: boolean) {
    this.#sharedOrder = sharedOrder;
  }

  hasSeen(item: Item): boolean {
    return this.#seen.has(item);
  }

  /** Records that the item was, or may have been, delivered before. */
  markSeen(item: Item): void {
    this.#seen.add(item);
  }

  recordAndCheckBroken({ item, shard }: Delivered): boolean {
    const isShared = shard === '0' || isForwardedShard(shard);
    if (shard === '' || (isShared && !this.#sharedOrder) || this.#seen.has(item)) return false;
    this.#seen.add(item);
    const { session, sequence, subscriber } = parseItem(item);
    const key = `${shard} ${session} ${subscriber}`;
    const last = this.#last.get(key) ?? -1;
    this.#last.set(key, Math.max(last, sequence));
    return sequence < last;
  }
}
