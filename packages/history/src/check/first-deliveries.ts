/** When each message was first seen by a consumer, as far as the history tells. */
import type { Delivery, Inspection, OrderRule } from '../operation.ts';
import { type Facts, type Unit, unitKey } from './facts.ts';
import { firstAtLeast } from './kill-times.ts';

/** The first delivery happened between start and end. */
export interface FirstDelivery {
  unit: Unit;
  rule: OrderRule;
  by: Delivery | Inspection;
  /** Position in it. */
  index: number;
  start: number;
  end: number;
  /** First deliveries with the same name happened in the order of their ends. */
  sequence: string;
  log: string;
}

/**
 * Of the messages of ordered queues that are part of a stream. An inspection shows the order of messages too: of those that
 * nobody had received before it.
 */
export function firstDeliveries(facts: Facts): FirstDelivery[] {
  const firsts: FirstDelivery[] = [];
  for (const unit of facts.units.values()) {
    const { queue, stream } = unit.enqueue.item;
    const rule = facts.queues.get(queue)?.order ?? 'none';
    if (rule === 'none' || stream === undefined) continue;
    const { holds, found } = unit;
    const [hold] = holds;
    let start = Number.POSITIVE_INFINITY;
    for (const { delivery } of holds) start = Math.min(start, delivery.start);
    if (hold !== undefined) {
      const { delivery: by, index, item } = hold;
      const sequence = sequenceOf(rule, by);
      firsts.push({ unit, rule, by, index, start, end: by.end, sequence, log: item.log ?? '' });
    }
    if (found !== undefined && start > found.inspection.end) {
      const { inspection: by, index, log = '' } = found;
      const sequence = sequenceOf(rule, by);
      firsts.push({ unit, rule, by, index, start: by.start, end: by.end, sequence, log });
    }
  }
  return firsts;
}

function sequenceOf(rule: OrderRule, by: Delivery | Inspection): string {
  if (rule === 'total') return '';
  if (rule === 'interval' || by.type === 'inspection') return by.id;
  return by.host ?? by.process;
}

/** Whether one was certainly delivered before the other. */
export function isBefore(a: FirstDelivery, b: FirstDelivery): boolean {
  if (a.end < b.start) return true;
  return a.sequence === b.sequence && isEarlierEnd(a, b);
}

export function isEarlierEnd(a: FirstDelivery, b: FirstDelivery): boolean {
  return a.end < b.end || (a.end === b.end && a.index < b.index);
}

/**
 * Dequeues that never ended: each may have delivered as many messages as it asked for, and nobody saw them. What such a
 * dequeue may have been the first to deliver is not out of order.
 */
export class UnseenDeliveries {
  /** By queue and subscriber: starts in order, and how many messages those up to each may have delivered. */
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
  countBefore({ unit: { enqueue, subscriber } }: FirstDelivery, time: number): number {
    const known = this.#of.get(unitKey(enqueue.item.queue, subscriber));
    if (known === undefined) return 0;
    return known.totals[firstAtLeast(known.starts, time) - 1] ?? 0;
  }

  /** Uses one of those for this message; false if none is left. To be called in the order of the times. */
  excuse(late: FirstDelivery, time: number): boolean {
    const { enqueue, subscriber } = late.unit;
    const key = unitKey(enqueue.item.queue, subscriber);
    const used = this.#used.get(key) ?? 0;
    if (used >= this.countBefore(late, time)) return false;
    this.#used.set(key, used + 1);
    return true;
  }
}
