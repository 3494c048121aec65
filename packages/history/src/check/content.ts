/** A delivered message must have been enqueued with the same content, for this consumer, and must be due. */
import type { DeliveredMessage, Delivery, Inspection } from '../record/operation.ts';
import type { Facts } from './facts.ts';
import type { Violation } from './violation.ts';

/** The engine reckons delays in whole milliseconds of the wall clock. */
const delayToleranceNs = 2_000_000;

interface Seen {
  queue: string;
  subscriber: string | undefined;
  by: Delivery | Inspection;
  item: DeliveredMessage;
}

export function checkContent(facts: Facts, report: (violation: Violation) => void): void {
  for (const { message, operations } of facts.namedTwice)
    report({ kind: 'doubling', message, operations, sentence: `${message} was enqueued twice` });
  for (const unreadable of facts.unreadable) {
    const sentence = `something that no client enqueued is in ${unreadable.queue}: ${unreadable.text}`;
    report({ kind: 'damage', sentence, operations: [unreadable] });
  }
  for (const by of facts.deliveries) {
    const { queue, subscriber } = by;
    for (const item of by.messages) checkItem(facts, { queue, subscriber, by, item }, report);
  }
  for (const by of facts.inspections) {
    for (const { queue, subscriber, messages } of by.contents)
      for (const item of messages) checkItem(facts, { queue, subscriber, by, item }, report);
  }
}

function checkItem(facts: Facts, seen: Seen, report: (violation: Violation) => void): void {
  const { queue, subscriber, by, item } = seen;
  const { message, digest } = item;
  const enqueue = facts.enqueues.get(message);
  if (enqueue === undefined) {
    const sentence = `${message} is in ${queue}, and no client enqueued it`;
    report({ kind: 'invention', message, sentence, operations: [by] });
    return;
  }
  const { transaction, item: enqueued } = enqueue;
  const { operation } = transaction;
  const operations = [operation, by];
  const invented = (sentence: string) => report({ kind: 'invention', message, sentence, operations });
  if (operation.outcome === 'fail') invented(`${message} was seen, and its transaction was not committed`);
  else if (by.end < operation.start) invented(`${message} was seen before its commit was attempted`);
  else if (queue !== enqueued.queue && facts.queues.get(enqueued.queue)?.exceptions !== queue)
    invented(`${message} was enqueued to ${enqueued.queue} and is in ${queue}`);
  else if (subscriber !== undefined && !isAddressed(facts, seen, enqueued.recipients, operation.end))
    invented(`${message} was delivered to ${subscriber}, whom it is not for`);
  else transaction.happened ??= { sentence: `its message ${message} was seen`, operations: [by] };
  if (digest !== enqueued.digest && digest !== undefined && enqueued.digest !== undefined) {
    const sentence = `${message} was enqueued with the content ${enqueued.digest} and delivered with ${digest}`;
    report({ kind: 'damage', message, sentence, operations });
  }
  const { notBefore } = enqueued;
  if (by.type === 'delivery' && notBefore !== undefined && by.end + delayToleranceNs < notBefore) {
    const early = ((notBefore - by.end) / 1e6).toFixed(1);
    report({
      kind: 'early',
      message,
      operations,
      sentence: `${message} was delivered ${early} ms too early`,
    });
  }
}

function isAddressed(
  { subscribers }: Facts,
  { queue, subscriber }: Seen,
  recipients: readonly string[] | undefined,
  committedBy: number,
): boolean {
  if (recipients !== undefined && !recipients.includes(subscriber!)) return false;
  const times = subscribers.get(queue)?.get(subscriber!);
  return times === undefined || times.attempted <= committedBy;
}
