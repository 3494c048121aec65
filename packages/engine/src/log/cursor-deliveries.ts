/**
 * The deliveries of one cursor that are not settled: held, paused, or returned. All are messages below the cursor's
 * position that are not terminal. Returned ones are delivered again, the lowest number first, before anything new.
 *
 * For a persistent log the first delivery of a message is only counted, since its partition has the record, so most
 * deliveries cost nothing here. Each change of state is looked up in `message-life.ts`, once a run.
 */
import type { BrowsedMessage } from '../api/message.ts';
import { Heap } from '../model/heap.ts';
import type { GroupNumber, HoldNumber, Seq, SessionNumber, SubscriberId } from '../model/ids.ts';
import { InvariantViolation } from '../model/invariant.ts';
import { type MessageCommand, type MessageState, messageLife } from '../model/message-life.ts';
import type { CursorLog } from './cursor-log.ts';
import { type DeliveryRun, singleDeliveries, splitDelivery } from './delivery-run.ts';

export interface DeliverRunOptions<Run> {
  max: number;
  /** Number of the session that gets the messages; 0 if the engine takes them. */
  session?: SessionNumber | undefined;
  nextHoldNumber(): HoldNumber;
  /** Deliveries are appended to it. */
  out: Run[];
}

export class CursorDeliveries<Run extends DeliveryRun> {
  /** Number of held messages. */
  held = 0;
  /** Number of returned messages that wait for their retry delay. */
  paused = 0;
  readonly #log: CursorLog;
  readonly #subscriber: SubscriberId;
  /** Returned runs, the lowest number first. Undefined until there is one: most cursors never have any. */
  #returned: Heap<Run> | undefined;
  /** Paused runs, each with the time when its retry delay ends, epoch ms. */
  readonly #paused = new Map<Run, number>();
  /** Held runs that were delivered before. */
  readonly #heldRedelivered = new Set<Run>();
  /** Held runs of a nonpersistent log: their records are nowhere else. */
  readonly #heldMemoryOnly = new Set<Run>();
  /** Held runs at or above the cursor's position: see `holdUnread`. */
  readonly #heldUnread = new Set<Run>();
  /** The subscriber was removed or the queue dropped: what is settled from then on changes nothing. */
  #disposed = false;

  constructor(log: CursorLog, subscriber: SubscriberId) {
    this.#log = log;
    this.#subscriber = subscriber;
  }

  /** In no particular order. */
  get #returnedRuns(): readonly Run[] {
    return this.#returned?.items ?? [];
  }

  /** The returned run that is delivered next. */
  get nextReturned(): Run | undefined {
    return this.#returned?.first;
  }

  /** Every change of a delivery's state goes through here. `detail` is for the trace: see `LogTrace.apply`. */
  #apply(delivery: Run, command: MessageCommand, detail = 0): void {
    const next = messageLife.transitions[delivery.state][command];
    if (next === undefined) this.#reject(delivery, command);
    delivery.state = next;
    const log = this.#log;
    if (log.traces(delivery.firstSeq, delivery.count))
      log.trace?.apply(command, delivery, this.#subscriber, detail);
  }

  #applyToAll(deliveries: readonly Run[], command: MessageCommand, detail = 0): void {
    for (const delivery of deliveries) this.#apply(delivery, command, detail);
  }

  #reject({ firstSeq, count, state }: Run, command: MessageCommand): never {
    this.#log.stopInstance(
      new InvariantViolation(
        `messages ${firstSeq} to ${firstSeq + count - 1} of log ${this.#log.id} are ${state} and cannot ${command}`,
      ),
    );
  }

  /** Delivers a run that is ready or returned, to a session. */
  hold(delivery: Run, session: SessionNumber = 0): void {
    this.#apply(delivery, 'deliver', session);
    this.held += delivery.count;
    if (delivery.deliveryCount > 1) this.#heldRedelivered.add(delivery);
    if (!this.#log.persistent) this.#heldMemoryOnly.add(delivery);
  }

  /** Delivers returned messages again, up to `max`; returns how many. */
  redeliver({ max, session, nextHoldNumber, out }: DeliverRunOptions<Run>): number {
    let taken = 0;
    while (taken < max) {
      let returned = this.#returned?.removeFirst();
      if (returned === undefined) break;
      if (returned.count > max - taken) {
        const [first, rest] = splitDelivery(returned, max - taken);
        this.#addReturned([rest]);
        returned = first;
      }
      const delivery: Run = {
        ...returned,
        deliveryCount: returned.deliveryCount + 1,
        holdNumber: nextHoldNumber(),
      };
      this.hold(delivery, session);
      out.push(delivery);
      taken += returned.count;
    }
    return taken;
  }

  /** Replaces a delivery by one delivery per message, so that each can be settled separately. */
  holdIndividually(delivery: Run): Run[] {
    const singles = [...singleDeliveries(delivery)];
    for (const held of [this.#heldRedelivered, this.#heldMemoryOnly]) {
      if (held.delete(delivery)) for (const single of singles) held.add(single);
    }
    return singles;
  }

  /** Replaces a delivery by that of its first `count` messages and that of the rest, so that each can be settled separately. */
  splitHeld(delivery: Run, count: number): [first: Run, rest: Run] {
    const parts = splitDelivery(delivery, count);
    for (const held of [this.#heldRedelivered, this.#heldMemoryOnly]) {
      if (held.delete(delivery)) for (const part of parts) held.add(part);
    }
    return parts;
  }

  #release(deliveries: readonly Run[]): void {
    for (const delivery of deliveries) {
      this.held -= delivery.count;
      this.#heldRedelivered.delete(delivery);
      this.#heldMemoryOnly.delete(delivery);
      this.#heldUnread.delete(delivery);
    }
  }

  #addReturned(deliveries: readonly Run[]): void {
    this.#returned ??= new Heap((a, b) => a.firstSeq < b.firstSeq);
    for (const delivery of deliveries) this.#returned.add(delivery);
  }

  #takeReturned(): readonly Run[] {
    const returned = this.#returnedRuns;
    this.#returned = undefined;
    return returned;
  }

  /** Adds evacuated messages that the file holds. They were delivered before the instance opened. */
  recover(deliveries: readonly Run[]): void {
    this.#applyToAll(deliveries, 'recoverEvacuated');
    this.#addReturned(deliveries);
  }

  /** Ends deliveries that were not consumed: their messages are delivered next. */
  nack(deliveries: readonly Run[]): void {
    if (this.#disposed) return;
    this.#applyToAll(deliveries, 'nack');
    this.#release(deliveries);
    this.#addReturned(deliveries);
  }

  /**
   * Cancels deliveries that no consumer has seen. Their messages become ready with their delivery count unchanged, unlike after
   * a nack.
   */
  cancelDelivery(deliveries: readonly Run[]): void {
    if (this.#disposed) return;
    this.#applyToAll(deliveries, 'cancelDelivery');
    this.#release(deliveries);
    this.#addReturned(
      deliveries.map((delivery) => ({ ...delivery, deliveryCount: delivery.deliveryCount - 1 })),
    );
  }

  /** Holds messages whose records have not been read since the instance opened. Evacuated ones among them were returned. */
  holdUnread(delivery: Run): void {
    this.#apply(delivery, 'holdUnread');
    const end = delivery.firstSeq + delivery.count;
    const isOutside = ({ firstSeq }: Run) => firstSeq < delivery.firstSeq || end <= firstSeq;
    this.#addReturned(this.#takeReturned().filter(isOutside));
    this.#heldUnread.add(delivery);
    this.held += delivery.count;
  }

  /**
   * Holds the returned messages with these numbers for a branch that was prepared before the instance opened. Call it after
   * `recover`, before anything is delivered.
   */
  holdReturned(seqs: ReadonlySet<Seq>): Run[] {
    const singles = this.#takeReturned().flatMap((returned) => [...singleDeliveries(returned)]);
    const held = singles.filter(({ firstSeq }) => seqs.has(firstSeq));
    for (const delivery of held) this.hold(delivery);
    this.#addReturned(singles.filter(({ firstSeq }) => !seqs.has(firstSeq)));
    return held;
  }

  /** Ends a delivery whose messages wait for a retry delay, until `resume` and then `nack`. */
  pause(delivery: Run, untilMs: number): void {
    if (this.#disposed) return;
    this.#apply(delivery, 'pause', untilMs);
    this.#paused.set(delivery, untilMs);
    this.held -= delivery.count;
    this.paused += delivery.count;
  }

  resume(delivery: Run): void {
    if (this.#disposed) return;
    this.#apply(delivery, 'resume');
    this.#paused.delete(delivery);
    this.held += delivery.count;
    this.paused -= delivery.count;
  }

  /** Stops the instance if the delivery cannot be consumed: checked before the group that consumes it is written. */
  assertConsumable(delivery: Run): void {
    if (this.#disposed || messageLife.transitions[delivery.state].consume !== undefined) return;
    this.#reject(delivery, 'consume');
  }

  /** Ends deliveries of `messages` messages in all that a durable group consumed. Returns those held in memory only. */
  consume(deliveries: readonly Run[], messages: number, groupNumber: GroupNumber): Run[] {
    this.#applyToAll(deliveries, 'consume', groupNumber);
    this.held -= messages;
    if (this.#heldRedelivered.size + this.#heldMemoryOnly.size + this.#heldUnread.size === 0) return [];
    for (const delivery of deliveries) {
      this.#heldRedelivered.delete(delivery);
      this.#heldUnread.delete(delivery);
    }
    return deliveries.filter((delivery) => this.#heldMemoryOnly.delete(delivery));
  }

  /** Whether a message at or above the cursor's position is held all the same. */
  isHeldUnread(seq: Seq): boolean {
    return this.#heldUnread.size > 0 && [...this.#heldUnread].some(containsSeq(seq));
  }

  /** State of a message below the cursor's position that is not terminal. O(unsettled deliveries). */
  stateOf(seq: Seq): 'held' | 'returned' | 'paused' {
    const contains = containsSeq(seq);
    if (this.#returnedRuns.some(contains)) return 'returned';
    return [...this.#paused.keys()].some(contains) ? 'paused' : 'held';
  }

  /** The states of a range of messages below the cursor's position, none of them terminal. O(unsettled deliveries). */
  statesBetween(start: Seq, end: Seq): Set<MessageState> {
    const returned = countBetween(this.#returnedRuns, start, end);
    const paused = countBetween(this.#paused.keys(), start, end);
    const states = new Set<MessageState>();
    if (returned > 0) states.add('returned');
    if (paused > 0) states.add('paused');
    if (returned + paused < end - start) states.add('held');
    return states;
  }

  /** State of such a message as `browse` shows it. */
  statusOf(seq: Seq): Pick<BrowsedMessage, 'state' | 'deliveryCount' | 'untilMs'> {
    const contains = containsSeq(seq);
    const returned = this.#returnedRuns.find(contains);
    if (returned !== undefined) return { state: 'ready', deliveryCount: returned.deliveryCount };
    for (const [delivery, untilMs] of this.#paused) {
      if (contains(delivery)) return { state: 'delayed', deliveryCount: delivery.deliveryCount, untilMs };
    }
    return { state: 'held', deliveryCount: [...this.#heldRedelivered].find(contains)?.deliveryCount ?? 1 };
  }

  /** Returned messages with lower numbers. */
  returnedBefore(seq: Seq): number {
    return countBetween(this.#returnedRuns, 0, seq);
  }

  /** Unsettled runs of a nonpersistent log, paused ones included; none of a persistent log. */
  get memoryOnly(): Run[] {
    return this.#log.persistent ? [] : [...this.#heldMemoryOnly, ...this.#returnedRuns];
  }

  dispose(): void {
    this.#disposed = true;
    this.#returned = undefined;
    this.#paused.clear();
    this.#heldRedelivered.clear();
    this.#heldMemoryOnly.clear();
    this.#heldUnread.clear();
    this.held = 0;
    this.paused = 0;
  }
}

const containsSeq =
  (seq: Seq) =>
  ({ firstSeq, count }: DeliveryRun): boolean =>
    firstSeq <= seq && seq < firstSeq + count;

/** How many messages of the runs have numbers from `start` up to but excluding `end`. */
function countBetween(runs: Iterable<DeliveryRun>, start: Seq, end: Seq): number {
  let messages = 0;
  for (const { firstSeq, count } of runs)
    messages += Math.max(0, Math.min(firstSeq + count, end) - Math.max(firstSeq, start));
  return messages;
}
