/**
 * First deliveries of a stream's messages, of one priority and from one log, follow the order of their commits; and no
 * message is first delivered while a more urgent one of its stream is ready.
 */
import type { Facts } from './facts.ts';
import { type FirstDelivery, firstDeliveries, isBefore, UnseenDeliveries } from './first-deliveries.ts';
import { firstAtLeast } from './kill-times.ts';
import type { Violation } from './violation.ts';

type Report = (violation: Violation) => void;

/** A message that was delivered before one that comes earlier in its stream. */
interface Inversion {
  late: FirstDelivery;
  early: FirstDelivery;
}

export function checkOrder(facts: Facts, report: Report): void {
  const unseen = new UnseenDeliveries(facts.deliveries);
  const firsts = firstDeliveries(facts);
  const streams = Map.groupBy(firsts, ({ unit: { enqueue, subscriber }, by, log }) => {
    const { queue, stream, priority = 0 } = enqueue.item;
    const inspection = by.type === 'inspection' ? by.id : '';
    return [queue, subscriber, stream, priority, log, inspection].join('\n');
  });
  const inversions = [...streams.values()].flatMap(findInversions);
  inversions.sort((a, b) => a.early.end - b.early.end);
  for (const { late, early } of inversions) {
    if (unseen.excuse(late, early.end)) continue;
    const { message } = late.unit;
    const sentence = `${early.unit.message} was delivered before ${message}, which was committed before it`;
    const { operation } = late.unit.enqueue.transaction;
    const later = early.unit.enqueue.transaction.operation;
    const operations = [...new Set([operation, later, early.by, late.by])];
    report({ kind: 'order', message, operations, sentence });
  }
  checkPriorities(facts, { firsts, unseen }, report);
}

/**
 * Finds messages that were delivered after one that comes later in the stream, going from the last message to the first. O(n log
 * n).
 */
function findInversions(stream: FirstDelivery[]): Inversion[] {
  stream.sort(inCommitOrder);
  const inversions: Inversion[] = [];
  let earliest: FirstDelivery | undefined;
  /** The first message of each delivery. */
  const firstIn = new Map<FirstDelivery['by'], FirstDelivery>();
  for (const first of stream.toReversed()) {
    const sameDelivery = firstIn.get(first.by);
    const early = [earliest, sameDelivery].find((other) => other !== undefined && isBefore(other, first));
    if (early !== undefined) inversions.push({ late: first, early });
    if (earliest === undefined || first.end < earliest.end) earliest = first;
    if (sameDelivery === undefined || first.index < sameDelivery.index) firstIn.set(first.by, first);
  }
  return inversions;
}

function inCommitOrder(
  { unit: { enqueue: a } }: FirstDelivery,
  { unit: { enqueue: b } }: FirstDelivery,
): number {
  return a.transaction.operation.start - b.transaction.operation.start || a.index - b.index;
}

/** Ready messages of one priority, in the order of their commits. */
interface Lane {
  firsts: FirstDelivery[];
  committedBy: number[];
  /** For each position, the message up to there that was delivered last. */
  lastDelivered: FirstDelivery[];
}

function checkPriorities(
  { queues }: Facts,
  { firsts, unseen }: { firsts: readonly FirstDelivery[]; unseen: UnseenDeliveries },
  report: Report,
): void {
  const ofLanes = firsts.filter(
    ({ unit, by }) => by.type === 'delivery' && queues.get(unit.enqueue.item.queue)?.priorities === true,
  );
  const streams = Map.groupBy(ofLanes, ({ unit: { enqueue, subscriber } }) =>
    [enqueue.item.queue, subscriber, enqueue.item.stream].join('\n'),
  );
  for (const stream of streams.values()) {
    const lanes = [...Map.groupBy(stream, ({ unit }) => unit.enqueue.item.priority ?? 0)]
      .sort(([a], [b]) => b - a)
      .map(([priority, ofLane]) => ({ priority, lane: newLane(ofLane) }));
    for (const first of stream) {
      const priority = first.unit.enqueue.item.priority ?? 0;
      for (const above of lanes) {
        if (above.priority <= priority) break;
        const passed = readyMeanwhile(above.lane, first);
        if (passed === undefined || unseen.mayHavePrecededIn(first.unit, first.end)) continue;
        report(describePassed(first, passed));
        break;
      }
    }
  }
}

function newLane(ofLane: FirstDelivery[]): Lane {
  const committed = ofLane.filter(({ unit }) => unit.enqueue.transaction.operation.outcome === 'ok');
  const endOf = ({ unit }: FirstDelivery) => unit.enqueue.transaction.operation.end;
  committed.sort((a, b) => endOf(a) - endOf(b));
  const lastDelivered: FirstDelivery[] = [];
  for (const first of committed) {
    const last = lastDelivered.at(-1);
    lastDelivered.push(last === undefined || last.start < first.start ? first : last);
  }
  return { firsts: committed, committedBy: committed.map(endOf), lastDelivered };
}

/** A message of the lane that was ready during the whole delivery, and delivered after it. */
function readyMeanwhile(
  { committedBy, lastDelivered }: Lane,
  first: FirstDelivery,
): FirstDelivery | undefined {
  const last = lastDelivered[firstAtLeast(committedBy, first.start) - 1];
  return last !== undefined && (first.end < last.start || isLaterInSame(first, last)) ? last : undefined;
}

function isLaterInSame(first: FirstDelivery, last: FirstDelivery): boolean {
  return first.by === last.by && first.index < last.index;
}

function describePassed(first: FirstDelivery, passed: FirstDelivery): Violation {
  const { message } = passed.unit;
  const sentence = `${first.unit.message} was delivered while ${message}, which is more urgent, was ready`;
  const operations = [...new Set([passed.unit.enqueue.transaction.operation, first.by, passed.by])];
  return { kind: 'order', message, operations, sentence };
}
