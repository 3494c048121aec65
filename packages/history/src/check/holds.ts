/**
 * A message is held by one consumer at a time, and a consumed one never comes again. A hold certainly lasts from the end of
 * its delivery to the first thing that may have ended it; a consumed one for ever.
 */
import type { Facts, Hold, KnownTransaction, Unit } from './facts.ts';
import type { Violation } from './violation.ts';

const nsPerMs = 1e6;

export function checkHolds(facts: Facts, report: (violation: Violation) => void): void {
  for (const unit of facts.units.values()) {
    if (unit.holds.length === 0) continue;
    checkExclusion(facts, unit, report);
    checkEndedHolds(unit, report);
    checkMoved(facts, unit, report);
    recordRedeliveries(unit);
  }
}

/** The earliest time at which the hold may have ended without a consumption. */
function earliestEnd(facts: Facts, { delivery, consumedBy, releases, extensions }: Hold): number {
  const { start, process, host = process, holdMs } = delivery;
  let expires = holdMs === undefined ? Number.POSITIVE_INFINITY : start + holdMs * nsPerMs;
  for (const extension of extensions) {
    const until = extension.start + extension.holdMs * nsPerMs;
    if (extension.outcome === 'ok') expires = until;
    else if (extension.outcome === 'unknown') expires = Math.min(expires, until);
  }
  let end = Math.min(expires, facts.kills.earliestAfter(start, [process, host]));
  for (const release of releases) if (release.outcome !== 'fail') end = Math.min(end, release.start);
  for (const { operation } of consumedBy) end = Math.min(end, operation.start);
  return end;
}

function committedConsumer({ consumedBy }: Hold): KnownTransaction | undefined {
  return consumedBy.find(({ operation }) => operation.outcome === 'ok');
}

function checkExclusion(facts: Facts, unit: Unit, report: (violation: Violation) => void): void {
  let holder: Hold | undefined;
  let holderEnd = Number.NEGATIVE_INFINITY;
  let heldUntil = Number.NEGATIVE_INFINITY;
  for (const hold of unit.holds) {
    const { delivery } = hold;
    const end = earliestEnd(facts, hold);
    const consumer = committedConsumer(hold);
    if (holder !== undefined && delivery.end < heldUntil) {
      // A hold that may have been over when its delivery ended proves nothing, unless the delivery began later too.
      const isLater = delivery.start > holder.delivery.end;
      if (end > delivery.end || consumer !== undefined || isLater)
        report(describe(unit, { holder, holderEnd, hold }));
    }
    const until = consumer === undefined ? end : Number.POSITIVE_INFINITY;
    if (until > heldUntil && until > delivery.end) {
      holder = hold;
      holderEnd = end;
      heldUntil = until;
    }
  }
}

interface Overlap {
  holder: Hold;
  /** When the holder's hold may have ended. */
  holderEnd: number;
  hold: Hold;
}

function describe({ message, subscriber }: Unit, { holder, holderEnd, hold }: Overlap): Violation {
  const consumer = committedConsumer(holder)?.operation;
  const name = subscriber === undefined ? message : `${message} of ${subscriber}`;
  const again = hold.delivery;
  const operations = [holder.delivery, ...(consumer === undefined ? [] : [consumer]), again];
  const common = { message, operations };
  if (consumer === undefined)
    return { kind: 'doubling', sentence: `${name} was delivered while another delivery held it`, ...common };
  if (again.end >= holderEnd && again.end < consumer.start) {
    const sentence = `${name} was consumed by a hold that had ended: it was delivered again before`;
    return { kind: 'stale', sentence, ...common };
  }
  const sentence = `${name} was delivered again though its consumption was acknowledged`;
  return { kind: 'doubling', sentence, ...common };
}

/** A released hold cannot consume, and no hold can consume twice. */
function checkEndedHolds({ message, holds }: Unit, report: (violation: Violation) => void): void {
  for (const { delivery, consumedBy, releases } of holds) {
    const committed = consumedBy.filter(({ operation }) => operation.outcome === 'ok');
    const [first, second] = committed;
    if (first === undefined) continue;
    if (second !== undefined) {
      const operations = [delivery, first.operation, second.operation];
      report({
        kind: 'doubling',
        message,
        operations,
        sentence: `one delivery of ${message} was consumed twice`,
      });
    }
    const release = releases.find(({ outcome, end }) => outcome === 'ok' && end < first.operation.start);
    if (release !== undefined) {
      const operations = [delivery, release, first.operation];
      const sentence = `${message} was consumed by a hold that its consumer had released`;
      report({ kind: 'stale', message, operations, sentence });
    }
  }
}

/** A message in the exception queue is no longer in its own queue. */
function checkMoved(facts: Facts, unit: Unit, report: (violation: Violation) => void): void {
  const { message, enqueue, holds } = unit;
  const exceptions = facts.queues.get(enqueue.item.queue)?.exceptions;
  if (exceptions === undefined) return;
  const moved = holds.find(({ delivery }) => delivery.queue === exceptions)?.delivery;
  if (moved === undefined) return;
  const again = holds.find(({ delivery }) => delivery.queue !== exceptions && delivery.start > moved.end);
  if (again === undefined) return;
  const sentence = `${message} was delivered by ${again.delivery.queue} after it had moved to ${exceptions}`;
  report({ kind: 'doubling', message, operations: [moved, again.delivery], sentence });
}

/** A message that is delivered again was not consumed by the delivery before. */
function recordRedeliveries({ message, holds }: Unit): void {
  let lastStart = Number.NEGATIVE_INFINITY;
  let last: Hold | undefined;
  for (const hold of holds) {
    if (hold.delivery.start <= lastStart) continue;
    lastStart = hold.delivery.start;
    last = hold;
  }
  for (const { delivery, consumedBy } of holds) {
    if (last === undefined || last.delivery.start <= delivery.end) continue;
    for (const consumer of consumedBy) {
      if (consumer.operation.outcome !== 'unknown') continue;
      const sentence = `${message}, which it consumes, was delivered again`;
      consumer.didNot ??= { sentence, operations: [last.delivery] };
    }
  }
}
