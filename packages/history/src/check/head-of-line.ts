/**
 * No message is delivered while one that comes earlier in its stream is ready: neither for the first time nor after it was
 * returned. A message is certainly ready from the end of its commit, or of the transaction or call that returned it, to the
 * start of its next delivery.
 */
import type { Operation } from '../record/operation.ts';
import type { Facts, Hold, Unit } from './facts.ts';
import { UnseenDeliveries } from './first-deliveries.ts';
import type { Violation } from './violation.ts';

interface Ready {
  position: number;
  from: number;
  to: number;
  unit: Unit;
  /** The operation that made it ready. */
  by: Operation;
  next: Operation;
}

interface Taken {
  position: number;
  unit: Unit;
  hold: Hold;
}

/** O(n log n). Not for streams that several hosts deliver: what one returns, another may not know yet. */
export function checkHeadOfLine(facts: Facts, report: (violation: Violation) => void): void {
  const unseen = new UnseenDeliveries(facts.deliveries);
  const streams = new Map<string, Unit[]>();
  for (const unit of facts.units.values()) {
    const { queue, stream, priority = 0 } = unit.enqueue.item;
    const { ordered = false, forwarded = false } = facts.queues.get(queue) ?? {};
    if (stream === undefined || !ordered || forwarded) continue;
    const key = [queue, unit.subscriber, stream, priority, unit.holds[0]?.item.log].join('\n');
    const known = streams.get(key);
    if (known === undefined) streams.set(key, [unit]);
    else known.push(unit);
  }
  for (const units of streams.values()) checkStream(units, unseen, report);
}

function checkStream(units: Unit[], unseen: UnseenDeliveries, report: (violation: Violation) => void): void {
  units.sort(
    ({ enqueue: a }, { enqueue: b }) =>
      a.transaction.operation.start - b.transaction.operation.start || a.index - b.index,
  );
  const ready: Ready[] = [];
  const taken: Taken[] = [];
  for (const [position, unit] of units.entries()) {
    for (const hold of unit.holds) taken.push({ position, unit, hold });
    addReady(position, unit, ready);
  }
  checkWithinDeliveries(taken, report);
  ready.sort((a, b) => a.from - b.from);
  taken.sort((a, b) => a.hold.delivery.start - b.hold.delivery.start);
  const latest = new LatestBelow(units.length);
  let next = 0;
  for (const { position, unit, hold } of taken) {
    const { delivery } = hold;
    for (; next < ready.length && ready[next]!.from < delivery.start; next += 1) latest.add(ready[next]!);
    const passed = latest.find(position);
    if (passed === undefined || passed.to <= delivery.end || unseen.mayHavePrecededIn(unit, delivery.end))
      continue;
    const { message } = passed.unit;
    const sentence = `${unit.message} was delivered while ${message}, which comes before it, was ready`;
    const operations = [
      ...new Set([passed.unit.enqueue.transaction.operation, passed.by, delivery, passed.next]),
    ];
    report({ kind: 'order', message, operations, sentence });
  }
}

/** Checks that the messages of a stream that one call delivers are in order. */
function checkWithinDeliveries(taken: readonly Taken[], report: (violation: Violation) => void): void {
  for (const [delivery, ofDelivery] of Map.groupBy(taken, ({ hold }) => hold.delivery)) {
    ofDelivery.sort((a, b) => a.hold.index - b.hold.index);
    for (const [index, { position, unit }] of ofDelivery.entries()) {
      const before = ofDelivery[index - 1];
      if (before === undefined || before.position < position) continue;
      const { message } = unit;
      const sentence = `${before.unit.message} was delivered before ${message}, which comes before it, by one call`;
      const enqueued = [unit, before.unit].map(({ enqueue }) => enqueue.transaction.operation);
      report({ kind: 'order', message, operations: [...new Set([...enqueued, delivery])], sentence });
    }
  }
}

function addReady(position: number, unit: Unit, ready: Ready[]): void {
  const { operation } = unit.enqueue.transaction;
  // In the order of their ends. One that ended later may have begun earlier, if it waited.
  const earliestStarts = unit.holds.map(({ delivery }) => delivery);
  for (let i = earliestStarts.length - 2; i >= 0; i -= 1)
    if (earliestStarts[i + 1]!.start < earliestStarts[i]!.start) earliestStarts[i] = earliestStarts[i + 1]!;
  const add = (by: Operation, holdsBefore: number) => {
    const next = earliestStarts[holdsBefore];
    if (next !== undefined && by.end < next.start)
      ready.push({ position, from: by.end, to: next.start, unit, by, next });
  };
  if (operation.outcome === 'ok') add(operation, 0);
  for (const [index, { delivery, consumedBy, releases }] of unit.holds.entries()) {
    if (delivery.holdMs !== undefined) {
      for (const release of releases) if (release.outcome === 'ok') add(release, index + 1);
      continue;
    }
    const returned = consumedBy.find((consumer) => consumer.operation.outcome === 'fail');
    if (returned !== undefined) add(returned.operation, index + 1);
  }
}

/** Finds the interval below a position that lasts longest: a binary indexed tree of maxima. */
class LatestBelow {
  readonly #tree: (Ready | undefined)[];

  constructor(positions: number) {
    this.#tree = new Array<Ready | undefined>(positions + 1);
  }

  add(ready: Ready): void {
    for (let i = ready.position + 1; i < this.#tree.length; i += i & -i) {
      const known = this.#tree[i];
      if (known === undefined || known.to < ready.to) this.#tree[i] = ready;
    }
  }

  find(position: number): Ready | undefined {
    let latest: Ready | undefined;
    for (let i = position; i > 0; i -= i & -i) {
      const known = this.#tree[i];
      if (known !== undefined && (latest === undefined || known.to > latest.to)) latest = known;
    }
    return latest;
  }
}
