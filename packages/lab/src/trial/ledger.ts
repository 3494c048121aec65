/**
 * What an instance's process knows about every message of a trial: committed by its enqueuers, handed out to its
 * dequeuers, consumed by their commits, and still there at the end. The coordinator merges the ledgers of all.
 */
import type { Integrity } from '@shardlab/contract';
import type { PayloadForge, PayloadIdentity } from './payload.ts';
import { countFrom, countShared, SequenceSet, unite } from './sequence-set.ts';

/**
 * How far hand-out order can be checked: over all dequeuers of an instance, within each dequeuer's session (both
 * `DeliveryOrder`), or within it on first sight (`SightOrder`).
 */
export type OrderScope = 'instance' | 'session' | 'sight';

export interface HandOutOrder {
  /** False if a later message of this enqueuer was handed out before. */
  inOrder(identity: PayloadIdentity): boolean;
}

/** A ledger as it crosses between processes. Sequence sets are bitmaps by enqueuer number. */
export interface LedgerReport {
  /** An enqueuer's committed messages are 0 to this, exclusive: it counts on only when a commit succeeded. */
  committed: Map<number, number>;
  consumed: Map<number, Uint32Array>;
  left: Map<number, Uint32Array>;
  duplicated: number;
  damaged: number;
  outOfOrder: number;
}

/**
 * Checks that the messages of one enqueuer are first handed out in its order. Its session is bound to one shard, so
 * on a sharded queue this holds over all dequeuers of the instance. Dequeuers of an unsharded queue are several
 * processes without a common order of events; there it is checked within each dequeuer's session, which is all that
 * an observer can see.
 */
export class DeliveryOrder implements HandOutOrder {
  readonly #next = new Map<number, number>();

  inOrder({ enqueuer, sequence }: PayloadIdentity): boolean {
    const next = this.#next.get(enqueuer) ?? 0;
    if (sequence < next) return false;
    this.#next.set(enqueuer, sequence + 1);
    return true;
  }
}

/** The messages of one outlet that a process has ever been handed. */
export class SightedMessages {
  readonly #byEnqueuer = new Map<number, SequenceSet>();

  /** True the first time. */
  add({ enqueuer, sequence }: PayloadIdentity): boolean {
    return setOf(this.#byEnqueuer, enqueuer).add(sequence);
  }
}

/**
 * As `DeliveryOrder`, for an instance that may fail over: what it had handed out comes again with the count of a first
 * hand-out, which the message's own count does not tell. All dequeuers of the process share what it has seen. Answers
 * that were lost with the connection are the last of all, so what was never seen comes later than all that was.
 */
export class SightOrder implements HandOutOrder {
  readonly #order = new DeliveryOrder();
  readonly #sighted: SightedMessages;

  constructor(sighted: SightedMessages) {
    this.#sighted = sighted;
  }

  inOrder(identity: PayloadIdentity): boolean {
    return !this.#sighted.add(identity) || this.#order.inOrder(identity);
  }
}

export class Ledger {
  readonly #forge: PayloadForge;
  readonly #committed = new Map<number, number>();
  readonly #consumed = new Map<number, SequenceSet>();
  readonly #left = new Map<number, SequenceSet>();
  #duplicated = 0;
  #damaged = 0;
  #outOfOrder = 0;

  constructor(forge: PayloadForge) {
    this.#forge = forge;
  }

  /** An enqueuer's messages up to `count` are committed. */
  committed(enqueuer: number, count: number): void {
    this.#committed.set(enqueuer, count);
  }

  /** A message was handed out for the first time or again; null if it is damaged. */
  handedOut(
    message: { payload: Buffer; deliveryCount: number },
    order: HandOutOrder,
  ): PayloadIdentity | null {
    const identity = this.#forge.check(message.payload);
    this.noteHandOut(identity, message.deliveryCount, order);
    return identity;
  }

  /** The same of a payload that was checked elsewhere. */
  noteHandOut(identity: PayloadIdentity | null, deliveryCount: number, order: HandOutOrder): void {
    if (identity === null) this.#damaged += 1;
    else if (deliveryCount === 1 && !order.inOrder(identity)) this.#outOfOrder += 1;
  }

  /** A dequeuer's commit consumed it: from now on it must not come again. */
  consumed({ enqueuer, sequence }: PayloadIdentity): void {
    if (!setOf(this.#consumed, enqueuer).add(sequence)) this.#duplicated += 1;
  }

  /** It was browsed after the drain. */
  left(message: { payload: Buffer }): void {
    this.noteLeft(this.#forge.check(message.payload));
  }

  /** The same of a payload that was checked elsewhere. */
  noteLeft(identity: PayloadIdentity | null): void {
    if (identity === null) this.#damaged += 1;
    else if (!setOf(this.#left, identity.enqueuer).add(identity.sequence)) this.#duplicated += 1;
  }

  report(): LedgerReport {
    const words = (sets: Map<number, SequenceSet>) =>
      new Map([...sets].map(([enqueuer, set]) => [enqueuer, set.words()]));
    return {
      committed: this.#committed,
      consumed: words(this.#consumed),
      left: words(this.#left),
      duplicated: this.#duplicated,
      damaged: this.#damaged,
      outOfOrder: this.#outOfOrder,
    };
  }
}

/**
 * Judges all ledgers of a trial together. Lost: committed, and neither consumed nor left. Duplicated: consumed twice,
 * or consumed and still in the queue. Damaged also counts what nobody committed; the identity of damaged bytes is not
 * believed, so their message is lost as well.
 */
export function mergeLedgers(reports: readonly LedgerReport[]): Integrity {
  const integrity: Integrity = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };
  const committed = new Map<number, number>();
  const consumed = new Map<number, Uint32Array>();
  const left = new Map<number, Uint32Array>();
  for (const report of reports) {
    integrity.duplicated += report.duplicated;
    integrity.damaged += report.damaged;
    integrity.outOfOrder += report.outOfOrder;
    for (const [enqueuer, count] of report.committed) committed.set(enqueuer, count);
    for (const [from, into] of [
      [report.consumed, consumed],
      [report.left, left],
    ] as const) {
      for (const [enqueuer, words] of from) {
        const known = into.get(enqueuer) ?? new Uint32Array(0);
        integrity.duplicated += countShared(known, words);
        into.set(enqueuer, unite(known, words));
      }
    }
  }
  for (const enqueuer of new Set([...committed.keys(), ...consumed.keys(), ...left.keys()])) {
    const count = committed.get(enqueuer) ?? 0;
    const gone = consumed.get(enqueuer) ?? new Uint32Array(0);
    const there = left.get(enqueuer) ?? new Uint32Array(0);
    const both = countShared(gone, there);
    integrity.duplicated += both;
    integrity.left += countShared(there, there) - both;
    const known = unite(gone.slice(), there);
    const foreign = countFrom(known, count);
    integrity.damaged += foreign;
    integrity.lost += count - (countShared(known, known) - foreign);
  }
  return integrity;
}

/**
 * What the ledgers of all instances say, by outlet, judged for each outlet and added up: a message that one subscriber
 * got twice and another never is one duplicated and one lost.
 */
export function mergeOutlets(byInstance: readonly (readonly LedgerReport[])[]): Integrity {
  const outlets = byInstance[0]!.keys();
  return [...outlets]
    .map((outlet) => mergeLedgers(byInstance.map((ledgers) => ledgers[outlet]!)))
    .reduce(addIntegrity);
}

export function addIntegrity(a: Integrity, b: Integrity): Integrity {
  return {
    lost: a.lost + b.lost,
    duplicated: a.duplicated + b.duplicated,
    damaged: a.damaged + b.damaged,
    outOfOrder: a.outOfOrder + b.outOfOrder,
    left: a.left + b.left,
  };
}

function setOf(sets: Map<number, SequenceSet>, enqueuer: number): SequenceSet {
  let set = sets.get(enqueuer);
  if (set === undefined) {
    set = new SequenceSet();
    sets.set(enqueuer, set);
  }
  return set;
}
