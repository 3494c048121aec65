/**
 * What is known of every item of one data folder, from what its processes told, and what a look into the folder must
 * therefore find. A transaction that was not acknowledged is open until the next look: it must be whole or absent, and
 * from then on it is known which.
 */
import { type Item, parseItem } from './item.ts';
import { type Delivered, isMoving, type Note } from './notes.ts';

export interface Faults {
  lost: Item[];
  doubled: Item[];
  damaged: string[];
  outOfOrder: Item[];
  /** Transactions of which a part was there. */
  torn: string[];
  /** Never enqueued, or enqueued by a transaction that was refused. */
  unknown: Item[];
  /** A process failed, or hung. */
  failed: string[];
}

const noFaults = (): Faults => ({
  lost: [],
  doubled: [],
  damaged: [],
  outOfOrder: [],
  torn: [],
  unknown: [],
  failed: [],
});

interface Transaction {
  name: string;
  puts: Item[];
  takes: Item[];
  state: 'open' | 'committed' | 'refused';
}

interface Entry {
  /** Its enqueue was acknowledged, or it was seen. */
  isThere: boolean;
  /** Transactions not acknowledged that would have consumed it. */
  takers: Set<Transaction>;
}

/** What was acknowledged, and what was wrong. */
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

/** What something that went wrong beside all books adds. */
export function totalsOfFailure(text: string): LedgerTotals {
  const totals = noTotals();
  totals.faults.failed.push(text);
  return totals;
}

export class Ledger {
  readonly #sharedOrder: boolean;
  #totals = noTotals();
  readonly #entries = new Map<Item, Entry>();
  readonly #gone = new Set<Item>();
  #transactions = new Map<string, Transaction>();
  /** By process: one that begins anew may hand out first what another had handed out before. */
  readonly #order = new Map<string, DeliveryOrder>();
  /** Of shards whose messages move from process to process. */
  readonly #movingOrder: DeliveryOrder;

  /**
   * `sharedOrder`: whether deliveries of a queue that all instances share (unsharded, or with messages that move) are in an
   * order that can be seen.
   */
  constructor({ sharedOrder }: { sharedOrder: boolean }) {
    this.#sharedOrder = sharedOrder;
    this.#movingOrder = new DeliveryOrder(sharedOrder);
  }

  get #faults(): Faults {
    return this.#totals.faults;
  }

  /** Since the last call. */
  takeTotals(): LedgerTotals {
    const totals = this.#totals;
    this.#totals = noTotals();
    return totals;
  }

  failed(text: string): void {
    this.#faults.failed.push(text);
  }

  /** Notes of all processes in the order of their time; `life` tells the processes apart. */
  take(note: Note, life: string): void {
    switch (note.kind) {
      case 'about':
        this.#about(note);
        break;
      case 'committed':
        this.#committed(this.#transactions.get(note.transaction)!);
        break;
      case 'refused':
        this.#refused(this.#transactions.get(note.transaction)!);
        break;
      case 'delivered':
        this.#delivered(note.delivered, life);
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

  #about({ transaction: name, puts, takes }: Extract<Note, { kind: 'about' }>): void {
    const transaction: Transaction = { name, puts, takes, state: 'open' };
    this.#transactions.set(name, transaction);
    for (const item of puts) this.#entries.set(item, { isThere: false, takers: new Set() });
    for (const item of takes) this.#entries.get(item)?.takers.add(transaction);
  }

  #committed(transaction: Transaction): void {
    transaction.state = 'committed';
    this.#totals.commits += 1;
    this.#totals.enqueued += transaction.puts.length;
    this.#totals.consumed += transaction.takes.length;
    for (const item of transaction.puts) {
      const entry = this.#entries.get(item);
      if (entry !== undefined) entry.isThere = true;
    }
    for (const item of transaction.takes) {
      if (this.#gone.has(item)) this.#faults.doubled.push(item);
      this.#gone.add(item);
      this.#entries.delete(item);
    }
  }

  #refused(transaction: Transaction): void {
    transaction.state = 'refused';
    for (const item of transaction.puts) this.#entries.delete(item);
    for (const item of transaction.takes) this.#entries.get(item)?.takers.delete(transaction);
  }

  #delivered(delivered: readonly Delivered[], life: string): void {
    const order = this.#order.get(life) ?? new DeliveryOrder(this.#sharedOrder);
    this.#order.set(life, order);
    for (const each of delivered) {
      const entry = this.#entries.get(each.item);
      if (entry !== undefined) entry.isThere = true;
      else if (this.#gone.has(each.item)) this.#faults.doubled.push(each.item);
      else this.#faults.unknown.push(each.item);
      if (this.#orderOf(each, order).isBroken(each)) this.#faults.outOfOrder.push(each.item);
    }
  }

  #orderOf({ shard }: Delivered, ofProcess: DeliveryOrder): DeliveryOrder {
    return isMoving(shard) ? this.#movingOrder : ofProcess;
  }

  /**
   * A process ended. What it was handed last it may not have noted, and others are handed that again, behind later
   * messages: these are the first of each session that nobody has noted.
   */
  ended(): void {
    const unseen = [...this.#entries.keys()].filter((item) => !this.#movingOrder.hasSeen(item));
    for (const items of Map.groupBy(unseen, (item) => parseItem(item).session).values()) {
      items.sort((a, b) => parseItem(a).no - parseItem(b).no);
      for (const item of items.slice(0, unnotedMax)) this.#movingOrder.see(item);
    }
  }

  /** Compares with all that the folder holds, in the order in which it is handed out. From here on that is what is there. */
  check(found: readonly Delivered[]): void {
    const seen = new Set<Item>();
    const order = new DeliveryOrder(this.#sharedOrder);
    for (const each of found) {
      const { item } = each;
      if (seen.has(item)) this.#faults.doubled.push(item);
      seen.add(item);
      const entry = this.#entries.get(item);
      if (entry !== undefined) entry.isThere = true;
      else (this.#gone.has(item) ? this.#faults.doubled : this.#faults.unknown).push(item);
      if (this.#orderOf(each, order).isBroken(each)) this.#faults.outOfOrder.push(item);
    }
    for (const transaction of this.#transactions.values()) {
      if (transaction.state === 'open') this.#assertWhole(transaction, seen);
    }
    for (const [item, { isThere, takers }] of this.#entries) {
      if (seen.has(item)) takers.clear();
      else {
        if (isThere && takers.size === 0) this.#faults.lost.push(item);
        this.#entries.delete(item);
        if (isThere) this.#gone.add(item);
      }
    }
    this.#transactions = new Map();
    this.#order.clear();
  }

  /** All of its puts are there and all of its takes gone, or none of either, as far as others leave that to be seen. */
  #assertWhole(transaction: Transaction, seen: ReadonlySet<Item>): void {
    const { name, puts, takes } = transaction;
    const done = puts.map((item) => this.#gone.has(item) || (this.#entries.get(item)?.isThere ?? false));
    for (const item of takes) {
      if (seen.has(item)) done.push(false);
      else if (!this.#isTakenByOthers(item, transaction)) done.push(true);
    }
    if (done.some((each) => each !== done[0])) this.#faults.torn.push(name);
  }

  #isTakenByOthers(item: Item, transaction: Transaction): boolean {
    const takers = this.#entries.get(item)?.takers;
    return takers === undefined || takers.size > 1 || !takers.has(transaction);
  }
}

/** Of one load a process has at most so many messages at a time that it was handed and has not noted. */
export const unnotedMax = 24;

/** First deliveries of a session's items must follow its numbers within a shard. */
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

  /** It was delivered before, or may have been. */
  see(item: Item): void {
    this.#seen.add(item);
  }

  isBroken({ item, shard }: Delivered): boolean {
    const isShared = shard === '0' || isMoving(shard);
    if (shard === '' || (isShared && !this.#sharedOrder) || this.#seen.has(item)) return false;
    this.#seen.add(item);
    const { session, no, subscriber } = parseItem(item);
    const key = `${shard} ${session} ${subscriber}`;
    const last = this.#last.get(key) ?? -1;
    this.#last.set(key, Math.max(last, no));
    return no < last;
  }
}
