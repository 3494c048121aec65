/** When each message was first seen by a consumer, as far as the history shows. */
import type { Delivery, Inspection } from '../record/operation.ts';
import { type Facts, type Unit, unitKey } from './facts.ts';
import { firstAtLeast } from './kill-times.ts';

/** The first delivery happened between start and end. */
export interface FirstDelivery {
  unit: Unit;
  by: Delivery | Inspection;
  /** Position in it. */
  index: number;
  start: number;
  end: number;
  log: string;
}

/**
 * First deliveries of messages of ordered queues that are part of a stream. An inspection also shows the order of messages that
 * no consumer had received before.
 */
export function firstDeliveries(facts: Facts): FirstDelivery[] {
  const firsts: FirstDelivery[] = [];
  for (const unit of facts.units.values()) {
    const { queue, stream } = unit.enqueue.item;
    const { ordered = false, forwarded = false } = facts.queues.get(queue) ?? {};
    if (!ordered || stream === undefined) continue;
    const { holds, found } = unit;
    const [hold] = holds;
    let start = Number.POSITIVE_INFINITY;
    for (const { delivery } of holds) start = Math.min(start, delivery.start);
    const inspectedBefore = found !== undefined && start > found.inspection.end;
    // After an inspection every delivery is one again, in an order that several hosts do not share.
    if (hold !== undefined && !(inspectedBefore && forwarded)) {
      const { delivery: by, index, item } = hold;
      firsts.push({ unit, by, index, start, end: by.end, log: item.log ?? '' });
    }
    if (found !== undefined && inspectedBefore) {
      const { inspection: by, index, log = '' } = found;
      firsts.push({ unit, by, index, start: by.start, end: by.end, log });
    }
  }
  return firsts;
}

/** Whether one was certainly delivered before the other. */
export function isBefore(a: FirstDelivery, b: FirstDelivery): boolean {
  return a.end < b.start || (a.by === b.by && a.index < b.index);
}

/**
 * Dequeues that never ended: each may have delivered up to its maximum of messages, unseen by any client. A message that such a
 * dequeue may have delivered first does not count as out of order.
 */
export class UnseenDeliveries {
  /** By queue and subscriber: the starts in order, and how many messages the dequeues up to each may have delivered. */
  readonly #of = new Map<string, { starts: number[]; totals: number[] }>();
  readonly #used = new Map<string, number>();

  constructor(deliveries: readonly Delivery[]) {
    for (const { outcome, queue, subscriber, start, max } of deliveries) {
      if (outcome !== 'unknown') continue;
      const key = unitKey(queue, subscriber);
      const known = this.#of.get(key) ?? { starts: [], totals: [] };
      this.#of.set(key, known);
      known.starts.push(start);
      known.totals.push((known.totals.at(-1) ?? 0) + max);
    }
  }

  /** How many messages may have been delivered unseen before the time. */
  #countBefore({ enqueue, subscriber }: Unit, time: number): number {
    const known = this.#of.get(unitKey(enqueue.item.queue, subscriber));
    if (known === undefined) return 0;
    return known.totals[firstAtLeast(known.starts, time) - 1] ?? 0;
  }

  /** Whether messages of the unit's queue may have been delivered unseen before the time. */
  mayHavePrecededIn(unit: Unit, time: number): boolean {
    return this.#countBefore(unit, time) > 0;
  }

  /** Uses one unseen delivery for this message; false if none is left. Call it in the order of the times. */
  excuse(late: FirstDelivery, time: number): boolean {
    const { enqueue, subscriber } = late.unit;
    const key = unitKey(enqueue.item.queue, subscriber);
    const used = this.#used.get(key) ?? 0;
    if (used >= this.#countBefore(late.unit, time)) return false;
    this.#used.set(key, used + 1);
    return true;
  }
}
