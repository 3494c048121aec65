/**
 * The invariants of every message, checked from what the sessions were told. The oracle knows nothing of logs or groups. A broken
 * invariant throws a `SimulationFailure` with its number in the design. Of topics the oracle knows only the enqueued messages, and
 * deliveries are judged by the history.
 */
import type { QueueRow } from '../../src/model/queue-row.ts';
import {
  type Hold,
  holdsOf,
  type KnownMessage,
  type KnownTransaction,
  newMessage,
  type SeenDelivery,
  type StoredMessage,
} from './known-message.ts';
import { expectThat } from './simulation-failure.ts';

export class Oracle {
  readonly messages = new Map<string, KnownMessage>();
  /** By instance: transactions that the next kill may undo. */
  readonly #undecided = new Map<number, Set<KnownTransaction>>();
  readonly #receipts = new Set<string>();
  readonly #ids = new Set<string>();
  readonly #sequences = new Map<string, KnownMessage[]>();
  /** By sequence, the index of the first undelivered message. */
  readonly #nextInSequence = new Map<KnownMessage[], number>();
  #kills = 0;
  /** Attempts are counted before a message is handed over, so that a limit is never exceeded, whatever fails. */
  limitsDeliveries = true;
  consumed = 0;
  redelivered = 0;

  begin(instance: number): KnownTransaction {
    return {
      instance,
      enqueued: [],
      dequeued: [],
      acknowledged: [],
      hasStaleReceipt: false,
      contested: [],
      beganCommitAtMs: 0,
      visible: false,
      durable: false,
      state: 'open',
    };
  }

  /** `sequence` names the session; undefined if the queue promises no order. */
  enqueue(
    transaction: KnownTransaction,
    queue: QueueRow,
    { payload, dueAtMs, sequence }: { payload: string; dueAtMs: number; sequence: string | undefined },
  ): void {
    let list: KnownMessage[] | undefined;
    if (sequence !== undefined) {
      const key = `${sequence} ${queue.queueId}`;
      list = this.#sequences.get(key) ?? [];
      this.#sequences.set(key, list);
    }
    const message = newMessage(payload, queue, transaction, list);
    message.dueAtMs = dueAtMs;
    message.killsAtEnqueue = this.#kills;
    list?.push(message);
    transaction.enqueued.push(message);
    if (queue.durability === 'durable') transaction.durable = true;
    if (queue.type === 'queue') this.messages.set(payload, message);
  }

  /** A session has called `commit`. */
  commitBegins(transaction: KnownTransaction, nowMs: number): void {
    transaction.state = 'pending';
    transaction.beganCommitAtMs = nowMs;
    const { acknowledged } = transaction;
    transaction.acknowledged = acknowledged.filter(({ committing }) => committing === undefined);
    transaction.contested = acknowledged.filter(({ committing }) => committing !== undefined);
    for (const hold of holdsOf(transaction)) {
      if (hold.ended) transaction.hasStaleReceipt = true;
      hold.committing = transaction;
      if (!hold.ended) hold.message.consumed = 'pending';
      if (hold.message.queue.durability === 'durable') transaction.durable = true;
    }
    this.#undecidedOf(transaction.instance).add(transaction);
  }

  #undecidedOf(instance: number): Set<KnownTransaction> {
    let undecided = this.#undecided.get(instance);
    if (undecided === undefined) {
      undecided = new Set();
      this.#undecided.set(instance, undecided);
    }
    return undecided;
  }

  committed(transaction: KnownTransaction, ids: readonly string[]): void {
    for (const hold of transaction.contested) {
      expectThat(!hold.ended, () => 'invariant 7: a receipt was accepted twice');
      if (hold.committing !== undefined) hold.committing.hasStaleReceipt = true;
      this.#consume(hold);
    }
    expectThat(!transaction.hasStaleReceipt, () => 'invariant 7: a stale receipt was accepted');
    expectThat(
      ids.length === transaction.enqueued.length,
      () => `a commit of ${transaction.enqueued.length} messages gave ${ids.length} ids`,
    );
    for (const [index, id] of ids.entries()) {
      const { queue } = transaction.enqueued[index]!;
      if (queue.durability !== 'durable') continue;
      const key = `${queue.queueId} ${id}`;
      expectThat(!this.#ids.has(key), () => `invariant 8: id ${id} of ${queue.name} was given twice`);
      this.#ids.add(key);
    }
    transaction.state = 'committed';
    if (transaction.durable) this.#undecidedOf(transaction.instance).delete(transaction);
    for (const hold of holdsOf(transaction)) this.#consume(hold);
  }

  #consume(hold: Hold): void {
    hold.ended = true;
    hold.committing = undefined;
    const { message } = hold;
    message.consumed = 'yes';
    message.consumedAt = hold.instance;
    if (message.hold === hold) message.hold = undefined;
    this.consumed += 1;
  }

  /** Nothing of the transaction was done: its dequeued messages are ready again, and its acknowledged ones are held as before. */
  refused(transaction: KnownTransaction): void {
    expectThat(!transaction.visible, () => 'invariant 2: messages of a refused commit were delivered');
    transaction.state = 'refused';
    this.#undecidedOf(transaction.instance).delete(transaction);
    for (const hold of holdsOf(transaction)) {
      if (hold.committing !== transaction) continue;
      hold.committing = undefined;
      if (!hold.ended && hold.message.hold === hold) hold.message.consumed = 'no';
    }
    for (const hold of transaction.dequeued) this.endHold(hold);
  }

  /** The instance failed, so the outcome of the transaction is unknown until the instance is opened again. */
  unknown(transaction: KnownTransaction): void {
    transaction.state = 'unknown';
  }

  /** The session that holds the message, or another one, has returned it: a commit under way that acknowledges it must be refused. */
  released(hold: Hold): void {
    if (hold.committing !== undefined) {
      hold.committing.hasStaleReceipt = true;
      hold.committing = undefined;
      hold.message.consumed = 'no';
    }
    this.endHold(hold);
  }

  endHold(hold: Hold): void {
    hold.ended = true;
    if (hold.message.hold === hold) hold.message.hold = undefined;
  }

  /** Checks the deliveries between two events, which have no order among each other. Returns their holds. */
  delivered(deliveries: readonly SeenDelivery[], nowMs: number): Hold[] {
    const first: KnownMessage[] = [];
    const holds = deliveries.map((delivery) => this.#deliver(delivery, nowMs, first));
    for (const message of first) this.#assertInSequence(message);
    return holds;
  }

  #deliver(delivery: SeenDelivery, nowMs: number, first: KnownMessage[]): Hold {
    const { instance, queue, transaction, expiresAtMs, part } = delivery;
    const { receipt, deliveryCount } = delivery.message;
    const payload = delivery.message.payload.toString();
    const message = this.#find(payload, queue, nowMs);
    const name = () => `message ${payload} of ${queue.name}`;
    const { state } = message.transaction;
    expectThat(state === 'committed' || state === 'pending', () => `invariant 2: ${name()} is ${state}`);
    if (state === 'pending') message.transaction.visible = true;
    this.#noteStaleCommit(message, nowMs);
    expectThat(
      message.consumed === 'no',
      () => `invariant 3: ${name()} is delivered, consumed: ${message.consumed}`,
    );
    expectThat(message.exception === undefined, () => `invariant 3: ${name()} is in the exception queue`);
    expectThat(
      nowMs >= message.dueAtMs || this.#kills > message.killsAtEnqueue,
      () => `${name()} is delivered ${message.dueAtMs - nowMs} ms before its delay is over`,
    );
    const held = message.hold;
    if (held !== undefined) {
      const expired = held.expiresAtMs !== undefined && nowMs >= held.expiresAtMs && !held.committing;
      expectThat(expired, () => `invariant 7: ${name()} is held already`);
      held.ended = true;
    }
    const receiptKey = `${instance} ${receipt}`;
    expectThat(!this.#receipts.has(receiptKey), () => `invariant 7: receipt ${receipt} was given twice`);
    if (receipt !== '') this.#receipts.add(receiptKey);
    expectThat(
      !message.delivered || deliveryCount > 1,
      () => `invariant 3: ${name()} was delivered before, and now as if for the first time`,
    );
    if (message.killsAtDelivery === this.#kills) {
      const expected = message.deliveryCount + 1;
      expectThat(
        deliveryCount === expected,
        () => `invariant 3: ${name()} has delivery count ${deliveryCount}, not ${expected}`,
      );
    }
    const { attemptsMax } = queue;
    expectThat(
      !this.limitsDeliveries || attemptsMax === null || deliveryCount <= attemptsMax,
      () => `${name()} exceeds its attempts`,
    );
    if (message.delivered) this.redelivered += 1;
    else if (message.sequence !== undefined) first.push(message);
    message.delivered = true;
    message.deliveryCount = deliveryCount;
    message.killsAtDelivery = this.#kills;
    const hold: Hold = {
      message,
      instance,
      receipt,
      expiresAtMs,
      committing: undefined,
      ended: false,
      releasing: false,
      part,
    };
    message.hold = hold;
    transaction?.dequeued.push(hold);
    return hold;
  }

  /**
   * The hold of a message that is delivered had expired before the commit that acknowledges it, which must be refused. Its caller
   * is told when what it had dequeued is counted and returned.
   */
  #noteStaleCommit(message: KnownMessage, nowMs: number): void {
    const { hold } = message;
    if (message.consumed !== 'pending' || hold?.committing === undefined) return;
    if (hold.expiresAtMs === undefined || nowMs < hold.expiresAtMs) return;
    hold.committing.hasStaleReceipt = true;
    hold.committing = undefined;
    message.consumed = 'no';
  }

  #find(payload: string, queue: QueueRow, nowMs: number): KnownMessage {
    const message = this.messages.get(payload);
    expectThat(message !== undefined, () => `invariant 2: message ${payload} was never enqueued`);
    if (message!.queue.queueId === queue.queueId) return message!;
    expectThat(
      message!.queue.exceptionQueueId === queue.queueId,
      () => `message ${payload} of ${message!.queue.name} is in ${queue.name}`,
    );
    this.#noteStaleCommit(message!, nowMs);
    expectThat(
      message!.consumed === 'no',
      () => `invariant 3: consumed message ${payload} is in ${queue.name}`,
    );
    const { transaction } = message!;
    message!.exception ??= newMessage(payload, queue, transaction, undefined);
    return message!.exception;
  }

  #assertInSequence(message: KnownMessage): void {
    const sequence = message.sequence!;
    let next = this.#nextInSequence.get(sequence) ?? 0;
    while (
      next < sequence.length &&
      (sequence[next]!.delivered || sequence[next]!.transaction.state === 'refused')
    )
      next += 1;
    this.#nextInSequence.set(sequence, next);
    const earlier = sequence[next];
    expectThat(
      earlier === undefined || sequence.indexOf(message, next) < 0,
      () =>
        `invariant 4: ${message.payload} of ${message.queue.name} is delivered before ${earlier?.payload}`,
    );
  }

  /** The instance was killed; `stored` are the messages in its file. */
  killed(instance: number, stored: Iterable<StoredMessage>, truncated: ReadonlySet<string>): void {
    this.#kills += 1;
    const known = new Map<string, boolean>();
    for (const { payload, live } of stored) known.set(payload, (known.get(payload) ?? false) || live);
    for (const transaction of this.#undecidedOf(instance)) this.#decide(transaction, known, truncated);
    this.#undecidedOf(instance).clear();
    for (const message of this.messages.values()) {
      for (const life of [message, message.exception]) {
        if (life?.hold?.instance === instance) this.endHold(life.hold);
      }
    }
  }

  /** Decides from the file whether a transaction was committed, which must be so as a whole or not at all. */
  #decide(
    transaction: KnownTransaction,
    known: ReadonlyMap<string, boolean>,
    truncated: ReadonlySet<string>,
  ): void {
    const parts: boolean[] = [];
    for (const { payload } of transaction.enqueued) parts.push(known.has(payload) || truncated.has(payload));
    // With a stale receipt nothing of it is done, and what became of the message says nothing about it.
    for (const { message, expiresAtMs = Number.POSITIVE_INFINITY } of transaction.hasStaleReceipt
      ? []
      : holdsOf(transaction)) {
      // Its hold may have expired before, and what became of the message says nothing about the commit.
      if (expiresAtMs <= transaction.beganCommitAtMs) continue;
      if (known.has(message.payload)) parts.push(known.get(message.payload) === false);
      else if (truncated.has(message.payload)) parts.push(true);
    }
    const done = parts[0] ?? false;
    expectThat(!done || !transaction.hasStaleReceipt, () => 'invariant 7: a stale receipt was accepted');
    expectThat(
      parts.every((part) => part === done),
      () => `invariant 5: a transaction is in the file in part: ${parts.join(' ')}`,
    );
    const seen = transaction.visible && transaction.durable;
    expectThat(done || !seen, () => 'invariant 1: messages were delivered that a kill undid');
    const wasCommitted = transaction.state === 'committed';
    transaction.state = done ? 'committed' : 'refused';
    for (const hold of holdsOf(transaction)) {
      if (done && !wasCommitted) this.#consume(hold);
      else if (!done && (wasCommitted || hold.message.hold === hold)) {
        hold.message.consumed = 'no';
        hold.committing = undefined;
        hold.ended = true;
      }
    }
  }

  /** The instance was killed while the transaction was open. */
  abandoned(transaction: KnownTransaction): void {
    if (transaction.state === 'open') transaction.state = 'refused';
  }

  /**
   * Compares the messages with the tables of all instances: a committed message that is not consumed must be live in one of them, and a
   * consumed message must not be live where it was consumed.
   */
  audit(files: ReadonlyMap<number, Iterable<StoredMessage>>): void {
    const live = new Map<string, Set<number>>();
    for (const [instance, stored] of files) {
      for (const { queueId, payload, live: isLive } of stored) {
        if (!isLive) continue;
        const instances = live.get(payload) ?? new Set<number>();
        live.set(payload, instances);
        expectThat(
          !instances.has(instance),
          () => `invariant 3: ${payload} is live twice in instance ${instance}`,
        );
        instances.add(instance);
        const message = this.messages.get(payload);
        expectThat(message !== undefined, () => `invariant 2: stored message ${payload} was never enqueued`);
        const life = message!.queue.queueId === queueId ? message! : message!.exception;
        expectThat(
          life === undefined || life.consumed !== 'yes' || life.consumedAt !== instance,
          () => `invariant 3: ${payload} was consumed in instance ${instance} and is live there`,
        );
      }
    }
    for (const message of this.messages.values()) {
      if (message.transaction.state !== 'committed') continue;
      const life = message.exception ?? message;
      if (life.consumed === 'no' && message.consumed === 'no')
        expectThat(
          live.has(message.payload),
          () => `invariant 1: committed message ${message.payload} is lost`,
        );
    }
  }

  /** Committed messages that are not consumed. */
  *unconsumed(): Generator<KnownMessage> {
    for (const message of this.messages.values()) {
      if (message.transaction.state !== 'committed') continue;
      const life = message.exception ?? message;
      if (life.consumed !== 'yes') yield life;
    }
  }
}
