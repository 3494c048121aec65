/** Judges a history. Pure; O(n log n) in its messages. The package's README lists its guarantees and blind spots. */
import type { Operation } from '../record/operation.ts';
import { checkAtomicity } from './atomicity.ts';
import { checkContent } from './content.ts';
import { collectFacts } from './facts.ts';
import { checkHeadOfLine } from './head-of-line.ts';
import { checkHolds } from './holds.ts';
import { checkInspections } from './inspections.ts';
import { checkLeases } from './leases.ts';
import { checkOrder } from './order.ts';
import type { Violation } from './violation.ts';

export interface Verdict {
  /** The ones with the fewest operations first, then the earliest. Empty: nothing in the history is illegal. */
  violations: Violation[];
  operations: number;
  transactions: { ok: number; fail: number; unknown: number };
  /** Messages enqueued by transactions that are ok. */
  enqueued: number;
  consumed: number;
  delivered: number;
  inspections: number;
}

export function checkHistory(operations: readonly Operation[]): Verdict {
  const facts = collectFacts(operations);
  const violations: Violation[] = [];
  const report = (violation: Violation) => void violations.push(violation);
  checkContent(facts, report);
  checkHolds(facts, report);
  checkInspections(facts, report);
  checkOrder(facts, report);
  checkHeadOfLine(facts, report);
  checkLeases(facts, report);
  checkAtomicity(facts, report);
  const verdict: Verdict = {
    violations: violations.sort(
      (a, b) => a.operations.length - b.operations.length || lastStart(a) - lastStart(b),
    ),
    operations: operations.length,
    transactions: { ok: 0, fail: 0, unknown: 0 },
    enqueued: 0,
    consumed: 0,
    delivered: 0,
    inspections: facts.inspections.length,
  };
  for (const { operation } of facts.transactions) {
    verdict.transactions[operation.outcome] += 1;
    if (operation.outcome !== 'ok') continue;
    verdict.enqueued += operation.enqueues.length;
    verdict.consumed += operation.consumes.length;
  }
  for (const { messages } of facts.deliveries) verdict.delivered += messages.length;
  return verdict;
}

/** When the contradiction was complete. */
function lastStart({ operations }: Violation): number {
  let last = 0;
  for (const { start } of operations) last = Math.max(last, start);
  return last;
}
