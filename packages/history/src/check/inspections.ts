/**
 * The content of a queue while no client works on it: every message that is committed and not consumed, and no other. An
 * inspection decides the transactions begun before it: messages that it did not find must not appear later.
 */
import type { Inspection } from '../record/operation.ts';
import { type Facts, type Unit, unitKey } from './facts.ts';
import type { Violation } from './violation.ts';

type Report = (violation: Violation) => void;

export function checkInspections(facts: Facts, report: Report): void {
  const units = [...facts.units.values()].sort((a, b) => startOf(a) - startOf(b));
  let live = new Set<Unit>();
  const gone = new Map<Unit, Inspection>();
  let next = 0;
  for (const inspection of facts.inspections) {
    for (; next < units.length && startOf(units[next]!) < inspection.start; next += 1) live.add(units[next]!);
    const covered = new Set(inspection.contents.map(({ queue, subscriber }) => unitKey(queue, subscriber)));
    const found = foundUnits(facts, inspection, report);
    for (const unit of found) {
      const absentFrom = gone.get(unit);
      if (absentFrom !== undefined) reportReturn(unit, { absentFrom, seen: inspection }, report);
      checkPresent(unit, inspection, report);
    }
    const left = new Set<Unit>();
    for (const unit of live) {
      if (found.has(unit) || !isCovered(facts, unit, covered)) left.add(unit);
      else {
        gone.set(unit, inspection);
        checkAbsent(facts, unit, inspection, report);
      }
    }
    live = left;
  }
  for (const [unit, absentFrom] of gone) {
    const again = unit.holds.find(({ delivery }) => delivery.start > absentFrom.end);
    if (again !== undefined) reportReturn(unit, { absentFrom, seen: again.delivery }, report);
  }
}

function startOf({ enqueue }: Unit): number {
  return enqueue.transaction.operation.start;
}

/** Each message once; one that is there twice is reported. */
function foundUnits(facts: Facts, inspection: Inspection, report: Report): Set<Unit> {
  const found = new Set<Unit>();
  for (const { subscriber, messages } of inspection.contents) {
    for (const { message } of messages) {
      const unit = facts.units.get(unitKey(message, subscriber));
      if (unit === undefined) continue; // reported as an invention
      if (found.has(unit)) {
        const sentence = `${message} is there twice`;
        report({ kind: 'doubling', message, operations: [inspection], sentence });
      }
      found.add(unit);
    }
  }
  return found;
}

/** Whether all queues were inspected that the message can be in. */
function isCovered(facts: Facts, { enqueue, subscriber }: Unit, covered: ReadonlySet<string>): boolean {
  const { queue } = enqueue.item;
  const exceptions = facts.queues.get(queue)?.exceptions;
  return covered.has(unitKey(queue, subscriber)) && (exceptions === undefined || covered.has(exceptions));
}

function reportReturn(
  { message }: Unit,
  { absentFrom, seen }: { absentFrom: Inspection; seen: Violation['operations'][number] },
  report: Report,
): void {
  const sentence = `${message} came back after an inspection had not found it`;
  report({ kind: 'doubling', message, operations: [absentFrom, seen], sentence });
}

function checkPresent({ message, consumers }: Unit, inspection: Inspection, report: Report): void {
  for (const consumer of consumers) {
    const { operation } = consumer;
    if (operation.start > inspection.start) continue;
    if (operation.outcome === 'ok') {
      const sentence = `${message} is there though its consumption was acknowledged`;
      report({ kind: 'doubling', message, operations: [operation, inspection], sentence });
    } else if (operation.outcome === 'unknown')
      consumer.didNot ??= {
        sentence: `${message}, which it consumes, was there later`,
        operations: [inspection],
      };
  }
}

function checkAbsent(facts: Facts, unit: Unit, inspection: Inspection, report: Report): void {
  const { message, subscriber, enqueue, consumers, holds } = unit;
  const { transaction, item } = enqueue;
  const { operation } = transaction;
  if (operation.outcome === 'fail' || facts.queues.get(item.queue)?.volatile === true) return;
  if (subscriber !== undefined && hasLeft(facts, item.queue, subscriber, inspection)) return;
  const possible = consumers.filter(
    ({ operation: { outcome, start } }) => outcome !== 'fail' && start < inspection.end,
  );
  const isCommitted = operation.outcome === 'ok' || holds.length > 0;
  const [only] = possible;
  if (only === undefined) {
    const name = subscriber === undefined ? message : `${message} of ${subscriber}`;
    const operations = [operation, inspection];
    if (isCommitted) report({ kind: 'loss', message, operations, sentence: `${name} is lost` });
    else transaction.didNot ??= { sentence: `its message ${name} is not there`, operations: [inspection] };
  } else if (isCommitted && possible.length === 1 && only.operation.outcome === 'unknown')
    only.happened ??= { sentence: `${message}, which it consumes, is gone`, operations: [inspection] };
}

function hasLeft({ subscribers }: Facts, topic: string, subscriber: string, inspection: Inspection): boolean {
  const left = subscribers.get(topic)?.get(subscriber)?.unsubscribed;
  return left !== undefined && left.start < inspection.end;
}
