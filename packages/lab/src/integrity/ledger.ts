/**
 * A process's record of every message of a trial: committed by its enqueuers, delivered to its dequeuers, consumed by their
 * commits, and left at the end. The coordinator merges the ledgers of all processes.
 */
import type { Integrity } from '@shardlab/contract';
import { countOvertaken, DeliverySpans, type Interval } from './delivery-spans.ts';
import type { PayloadCodec, PayloadIdentity } from './payload.ts';
import { countAtOrAbove, countShared, SequenceSet, uniteInto } from './sequence-set.ts';

/**
 * The scope in which delivery order can be checked: over all dequeuers of an instance, within each dequeuer's session
 * (both `DeliveryOrder`), within the session for messages the process has not seen before (`FirstSightOrder`), or within the
 * session for every message, because nothing that was delivered earlier comes back (`RecoveredOrder`).
 */
export type OrderScope = 'instance' | 'session' | 'sight' | 'recovered';

export interface OrderCheck {
  /** Returns false if a later message of this enqueuer was delivered before this one, against the order. */
  inOrder(identity: PayloadIdentity, deliveryCount: number): boolean;
}

/** A ledger encoded for transfer between processes. Sequence sets are bitmaps by enqueuer number. */
export interface LedgerReport {
  /** Number of committed messages of each enqueuer; they are numbered from 0. Only successful commits increase it. */
  committed: Map<number, number>;
  consumed: Map<number, Uint32Array>;
  left: Map<number, Uint32Array>;
  duplicated: number;
  damaged: number;
  outOfOrder: number;
  /** First deliveries of a queue that all instances share: see `DeliverySpans`. */
  spans?: Float64Array;
}

/**
 * Checks that first deliveries of an enqueuer's messages follow its order. Its session is bound to one shard, so for a
 * sharded queue this is checked over all dequeuers of the instance. The dequeuers of an unsharded queue are in several
 * processes without a common order of events, so there it is checked within each dequeuer's session, and over all of them
 * by `DeliverySpans`.
 */
export class DeliveryOrder implements OrderCheck {
  /** Next expected sequence number by enqueuer. */
  readonly #next: number[] = [];

  inOrder({ enqueuer, sequence }: PayloadIdentity, deliveryCount: number): boolean {
    if (deliveryCount > 1) return true;
    const next = this.#next[enqueuer] ?? 0;
    if (sequence < next) return false;
    this.#next[enqueuer] = sequence + 1;
    return true;
  }
}

/** The messages of one source that were ever delivered to a process. */
export class SeenMessages {
  readonly #byEnqueuer = new Map<number, SequenceSet>();

  /** Returns true the first time. */
  add({ enqueuer, sequence }: PayloadIdentity): boolean {
    return setOf(this.#byEnqueuer, enqueuer).add(sequence);
  }
}

/**
 * Like `DeliveryOrder`, for an instance that may fail over: earlier deliveries are then repeated with the delivery count
 * of a first delivery. All dequeuers of the process share the set of seen messages. Responses lost with a connection are
 * always the latest, so messages never seen come after all that were seen.
 */
export class FirstSightOrder implements OrderCheck {
  readonly #order = new DeliveryOrder();
  readonly #seen: SeenMessages;

  constructor(sighted: SeenMessages) {
    this.#seen = sighted;
  }

  inOrder(identity: PayloadIdentity, deliveryCount: number): boolean {
    if (deliveryCount > 1) return true;
    return !this.#seen.add(identity) || this.#order.inOrder(identity, 1);
  }
}

/**
 * For a single dequeuer of a log, or of an unsharded queue, that consumes what a restart left: all of it counts as delivered
 * before, and comes in the order of its enqueuer.
 */
export class RecoveredOrder implements OrderCheck {
  readonly #order = new DeliveryOrder();

  inOrder(identity: PayloadIdentity): boolean {
    return this.#order.inOrder(identity, 1);
  }
}

export class Ledger {
  readonly #codec: PayloadCodec;
  readonly #committed = new Map<number, number>();
  readonly #consumed = new Map<number, SequenceSet>();
  readonly #left = new Map<number, SequenceSet>();
  #duplicated = 0;
  #damaged = 0;
  #outOfOrder = 0;
  /** The set of the enqueuer whose message was consumed last: messages of one transaction follow each other. */
  #lastEnqueuer = -1;
  #lastSet = new SequenceSet();
  readonly #spans: DeliverySpans | undefined;

  /** `isShared`: the dequeuers of all instances take messages from the same queue, in one order. */
  constructor(codec: PayloadCodec, { isShared = false } = {}) {
    this.#codec = codec;
    if (isShared) this.#spans = new DeliverySpans();
  }

  /** Records that an enqueuer's messages up to `count` are committed. */
  recordCommitted(enqueuer: number, count: number): void {
    this.#committed.set(enqueuer, count);
  }

  /** Records a delivery, first or repeated; returns null if the payload is damaged. `call` is the dequeue that delivered it. */
  recordDelivery(
    message: { payload: Buffer; deliveryCount: number },
    order: OrderCheck,
    call?: Interval,
  ): PayloadIdentity | null {
    const identity = this.#codec.check(message.payload);
    this.recordCheckedDelivery(identity, message.deliveryCount, order);
    if (identity !== null && message.deliveryCount === 1 && call !== undefined)
      this.#spans?.add(identity, call);
    return identity;
  }

  /**
   * Checks messages that one dequeue delivered, if some were delivered before: whatever comes back keeps its place, so an
   * enqueuer's messages must ascend. Redeliveries of different calls have no order: each waits for its own return.
   */
  checkRedelivered(identities: readonly PayloadIdentity[]): void {
    const order = new DeliveryOrder();
    for (const identity of identities) if (!order.inOrder(identity, 1)) this.#outOfOrder += 1;
  }

  /** The same for a payload that was already checked. */
  recordCheckedDelivery(identity: PayloadIdentity | null, deliveryCount: number, order: OrderCheck): void {
    if (identity === null) this.#damaged += 1;
    else if (!order.inOrder(identity, deliveryCount)) this.#outOfOrder += 1;
  }

  /** Records that a dequeuer's commit consumed the message, which must not be delivered again. */
  recordConsumed({ enqueuer, sequence }: PayloadIdentity): void {
    if (enqueuer !== this.#lastEnqueuer) {
      this.#lastSet = setOf(this.#consumed, enqueuer);
      this.#lastEnqueuer = enqueuer;
    }
    if (!this.#lastSet.add(sequence)) this.#duplicated += 1;
  }

  /** Records a message that was browsed after the drain. */
  recordRemaining(message: { payload: Buffer }): void {
    this.recordCheckedRemaining(this.#codec.check(message.payload));
  }

  /** The same for a payload that was already checked. */
  recordCheckedRemaining(identity: PayloadIdentity | null): void {
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
      ...(this.#spans === undefined ? {} : { spans: this.#spans.numbers() }),
    };
  }
}

/**
 * Combines all ledgers of a trial. Lost: committed, but neither consumed nor left. Duplicated: consumed twice, or consumed and
 * still in the queue. Damaged includes messages that were never committed; the identity in damaged bytes is not trusted, so such
 * a message also counts as lost.
 */
export function mergeLedgers(reports: readonly LedgerReport[]): Integrity {
  const integrity: Integrity = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };
  const committed = new Map<number, number>();
  const consumed = new Map<number, Uint32Array>();
  const left = new Map<number, Uint32Array>();
  integrity.outOfOrder += countOvertaken(reports.flatMap(({ spans }) => spans ?? []));
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
        into.set(enqueuer, uniteInto(known, words));
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
    const known = uniteInto(gone.slice(), there);
    const foreign = countAtOrAbove(known, count);
    integrity.damaged += foreign;
    integrity.lost += count - (countShared(known, known) - foreign);
  }
  return integrity;
}

/**
 * The integrity of a trial: computed per source over all instances, then summed. If one subscriber received a message twice
 * and another did not receive it, one message is duplicated and one is lost.
 */
export function mergeBySource(byInstance: readonly (readonly LedgerReport[])[]): Integrity {
  const sources = byInstance[0]!.keys();
  return [...sources]
    .map((source) => mergeLedgers(byInstance.map((ledgers) => ledgers[source]!)))
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
