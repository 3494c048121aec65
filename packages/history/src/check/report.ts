/** A verdict as text: what was judged, how often each promise was broken, and the smallest contradiction. */

import type { Operation } from '../record/operation.ts';
import type { Verdict } from './check-history.ts';
import type { Violation } from './violation.ts';

const number = (value: number) => value.toLocaleString('en-US');
/** Names of an operation that are printed. */
const namesMax = 6;
const otherViolationsMax = 5;

export function describeVerdict(verdict: Verdict): string {
  const { violations, operations, transactions, enqueued, consumed, delivered, inspections } = verdict;
  const { ok, fail, unknown } = transactions;
  const judged = [
    `${number(operations)} operations: ${number(ok)} transactions acknowledged, ${number(fail)} failed, ${number(unknown)} unknown`,
    `${number(enqueued)} messages enqueued, ${number(delivered)} deliveries, ${number(consumed)} consumed, ${number(inspections)} inspections`,
  ];
  const [smallest, ...others] = violations;
  if (smallest === undefined) return [...judged, 'legal'].join('\n');
  const counts = [...Map.groupBy(violations, ({ kind }) => kind)].map(
    ([kind, ofKind]) => `${kind} ${number(ofKind.length)}`,
  );
  const shown = others.slice(0, otherViolationsMax).map(({ kind, sentence }) => `  ${kind}: ${sentence}`);
  const more = others.length - shown.length;
  return [
    ...judged,
    `ILLEGAL: ${counts.join(', ')}`,
    '',
    describeViolation(smallest),
    ...(shown.length > 0 ? ['', 'also:', ...shown] : []),
    ...(more > 0 ? [`  and ${number(more)} more`] : []),
  ].join('\n');
}

/** The sentence, and a line for each operation that contradicts another. */
export function describeViolation({ kind, sentence, message, operations }: Violation): string {
  const inOrder = operations.toSorted((a, b) => a.start - b.start);
  const origin = inOrder[0]?.start ?? 0;
  const lines = inOrder.map((operation) => {
    const from = ms(operation.start - origin);
    const to = Number.isFinite(operation.end) ? ms(operation.end - origin) : 'never ended';
    const when = `${from} to ${to}`.padEnd(24);
    return `  ${when} ${operation.id.padEnd(10)} ${operation.outcome.padEnd(7)} ${describe(operation, message)}`;
  });
  return [`${kind}: ${sentence}`, ...lines].join('\n');
}

const ms = (ns: number) => `${(ns / 1e6).toFixed(3)} ms`;

function describe(operation: Operation, message: string | undefined): string {
  const list = (names: readonly string[]) => namesAround(names, message);
  const named = (parts: readonly { message: string }[]) => list(parts.map((part) => part.message));
  switch (operation.type) {
    case 'transaction': {
      const { session, enqueues, consumes, global } = operation;
      const parts = [
        ...(enqueues.length > 0 ? [`enqueues ${named(enqueues)}`] : []),
        ...(consumes.length > 0 ? [`consumes ${named(consumes)}`] : []),
        ...(global === undefined ? [] : [`branch of ${global}`]),
      ];
      return `transaction of ${session}: ${parts.join('; ')}`;
    }
    case 'delivery': {
      const to = operation.subscriber === undefined ? '' : ` to ${operation.subscriber}`;
      return `delivery from ${operation.queue}${to}: ${named(operation.messages)}`;
    }
    case 'release':
      return `release of ${named(operation.deliveries)}`;
    case 'extend':
      return `hold extended by ${operation.holdMs} ms: ${named(operation.deliveries)}`;
    case 'kill':
      return `kill of ${operation.of?.join(', ') ?? 'any process'}`;
    case 'inspection': {
      const found = operation.contents.flatMap(({ messages }) => messages.map((each) => each.message));
      return `inspection, found ${found.length} messages: ${list(found)}`;
    }
    case 'lease':
      return `lease of ${operation.resource}`;
    case 'unreadable':
      return `unreadable, in ${operation.queue}: ${operation.text}`;
    case 'queue':
      return `queue ${operation.queue}`;
    default:
      return `${operation.type} ${operation.subscriber} at ${operation.queue}`;
  }
}

/** A few of the names, including the wanted one. */
function namesAround(names: readonly string[], wanted: string | undefined): string {
  if (names.length <= namesMax) return names.join(' ') || 'nothing';
  const at = wanted === undefined ? -1 : names.indexOf(wanted);
  const from = at < 0 ? 0 : Math.min(Math.max(0, at - 2), names.length - namesMax);
  const shown = names.slice(from, from + namesMax);
  return `${from > 0 ? '… ' : ''}${shown.join(' ')}${from + namesMax < names.length ? ' …' : ''} (${names.length})`;
}
