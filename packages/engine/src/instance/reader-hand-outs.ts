/**
 * What one reader has handed out and what of it came back: messages below its cursor that are not terminal. Those that
 * came back are handed out again, the lowest first, before anything new. A first hand-out of a persistent message is only
 * counted: its partition remembers it, so that most hand-outs cost nothing here.
 */
import type { BrowsedMessage } from '../types.ts';
import { type Delivery, eachOf, splitDelivery, type TakeOptions } from './hand-out.ts';

export class ReaderHandOuts {
  /** Messages that are held. */
  held = 0;
  /** Messages that came back and wait for their retry delay. */
  paused = 0;
  /** Whether partitions remember what is held. */
  readonly #persistent: boolean;
  /** Handed out before and back again, the lowest last. */
  readonly #returned: Delivery[] = [];
  /** Back, and waiting for their retry delay until a time, epoch ms. */
  readonly #paused = new Map<Delivery, number>();
  /** Held, and not for the first time. */
  readonly #heldAgain = new Set<Delivery>();
  /** Of a nonpersistent shard, what is held: nothing else remembers it. */
  readonly #heldInMemory = new Set<Delivery>();

  constructor(persistent: boolean) {
    this.#persistent = persistent;
  }

  /** The next to go of those that came back. */
  get nextReturned(): Delivery | undefined {
    return this.#returned.at(-1);
  }

  /** Holds a hand-out. */
  hold(delivery: Delivery): void {
    this.held += delivery.count;
    if (delivery.deliveryCount > 1) this.#heldAgain.add(delivery);
    if (!this.#persistent) this.#heldInMemory.add(delivery);
  }

  /** Hands out again what came back, up to `max` messages; returns how many. */
  takeReturned({ max, nextHoldNo, out }: TakeOptions): number {
    let taken = 0;
    while (taken < max) {
      let back = this.#returned.pop();
      if (back === undefined) break;
      if (back.count > max - taken) {
        const [first, rest] = splitDelivery(back, max - taken);
        this.#returned.push(rest);
        back = first;
      }
      const delivery = { ...back, deliveryCount: back.deliveryCount + 1, holdNo: nextHoldNo() };
      this.hold(delivery);
      out.push(delivery);
      taken += back.count;
    }
    return taken;
  }

  /** From now on each message of a hand-out is held, and ends, by itself. */
  holdSingly(delivery: Delivery): Delivery[] {
    const each = [...eachOf(delivery)];
    for (const held of [this.#heldAgain, this.#heldInMemory]) {
      if (held.delete(delivery)) for (const one of each) held.add(one);
    }
    return each;
  }

  /** Hand-outs that are none any more, without being consumed. */
  #end(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      this.held -= delivery.count;
      this.#heldAgain.delete(delivery);
      this.#heldInMemory.delete(delivery);
    }
  }

  /** These messages are the next to go. */
  returned(deliveries: readonly Delivery[]): void {
    this.#returned.push(...deliveries);
    this.#returned.sort((a, b) => b.firstSeq - a.firstSeq);
  }

  /** Hand-outs ended without being consumed. */
  giveBack(deliveries: readonly Delivery[]): void {
    this.#end(deliveries);
    this.returned(deliveries);
  }

  /** Hand-outs that nobody saw: they are none, and count as none. */
  takeBack(deliveries: readonly Delivery[]): void {
    this.#end(deliveries);
    this.returned(deliveries.map((delivery) => ({ ...delivery, deliveryCount: delivery.deliveryCount - 1 })));
  }

  /** Holds messages that nobody looked at since they were read back, if they were: they are elsewhere. */
  holdUnseen(delivery: Delivery): void {
    const end = delivery.firstSeq + delivery.count;
    for (let i = this.#returned.length - 1; i >= 0; i -= 1) {
      const { firstSeq } = this.#returned[i]!;
      if (delivery.firstSeq <= firstSeq && firstSeq < end) this.#returned.splice(i, 1);
    }
    this.held += delivery.count;
  }

  /** A hand-out ended, but its messages wait for a time before `resume` and `giveBack`. */
  pause(delivery: Delivery, untilMs: number): void {
    this.#paused.set(delivery, untilMs);
    this.held -= delivery.count;
    this.paused += delivery.count;
  }

  resume(delivery: Delivery): void {
    if (!this.#paused.delete(delivery)) return;
    this.held += delivery.count;
    this.paused -= delivery.count;
  }

  /** Hand-outs, of so many messages, ended by being consumed. Returns those that only memory has held. */
  consumed(deliveries: readonly Delivery[], messages: number): Delivery[] {
    this.held -= messages;
    if (this.#heldAgain.size + this.#heldInMemory.size === 0) return [];
    for (const delivery of deliveries) this.#heldAgain.delete(delivery);
    return deliveries.filter((delivery) => this.#heldInMemory.delete(delivery));
  }

  /** How a message below the cursor stands that is not terminal. O(hand-outs that came back): for browsing. */
  statusOf(seq: number): Pick<BrowsedMessage, 'state' | 'deliveryCount' | 'untilMs'> {
    const has = ({ firstSeq, count }: Delivery) => firstSeq <= seq && seq < firstSeq + count;
    const back = this.#returned.find(has);
    if (back !== undefined) return { state: 'ready', deliveryCount: back.deliveryCount };
    for (const [delivery, untilMs] of this.#paused) {
      if (has(delivery)) return { state: 'delayed', deliveryCount: delivery.deliveryCount, untilMs };
    }
    return { state: 'held', deliveryCount: [...this.#heldAgain].find(has)?.deliveryCount ?? 1 };
  }

  /** What only memory has of a nonpersistent shard. */
  get inMemory(): Delivery[] {
    return this.#persistent ? [] : [...this.#heldInMemory, ...this.#returned];
  }

  dispose(): void {
    this.#returned.length = 0;
    this.#paused.clear();
    this.#heldAgain.clear();
    this.#heldInMemory.clear();
    this.held = 0;
    this.paused = 0;
  }
}
