/** A transaction happens as a whole or not at all; so does a global one over its branches. */
import type { Facts, KnownTransaction } from './facts.ts';
import type { Evidence, Violation } from './violation.ts';

type Report = (violation: Violation) => void;

/** Call it after the other checks, which collect the evidence. */
export function checkAtomicity({ transactions }: Facts, report: Report): void {
  const branches = new Map<string, KnownTransaction[]>();
  for (const transaction of transactions) {
    const { operation, happened, didNot } = transaction;
    if (operation.outcome === 'unknown' && happened !== undefined && didNot !== undefined) {
      const sentence = `a transaction happened in part: ${happened.sentence}, but ${didNot.sentence}`;
      const operations = [operation, ...happened.operations, ...didNot.operations];
      report({ kind: 'torn', sentence, operations });
    }
    const { global } = operation;
    if (global === undefined) continue;
    const known = branches.get(global);
    if (known === undefined) branches.set(global, [transaction]);
    else known.push(transaction);
  }
  for (const [global, ofGlobal] of branches) checkAgreement(global, ofGlobal, report);
}

function checkAgreement(global: string, branches: readonly KnownTransaction[], report: Report): void {
  const committed = firstOf(branches, 'ok', ({ happened }) => happened);
  const aborted = firstOf(branches, 'fail', ({ didNot }) => didNot);
  if (committed === undefined || aborted === undefined) return;
  const sentence = `global transaction ${global} committed in one branch (${committed.sentence}) and not in another (${aborted.sentence})`;
  const operations = [...new Set([...committed.operations, ...aborted.operations])];
  report({ kind: 'agreement', sentence, operations });
}

/** Why a branch had the outcome: its client was told, or there is other evidence. */
function firstOf(
  branches: readonly KnownTransaction[],
  outcome: 'ok' | 'fail',
  evidenceOf: (branch: KnownTransaction) => Evidence | undefined,
): Evidence | undefined {
  for (const branch of branches) {
    const { operation } = branch;
    const evidence = operation.outcome === 'unknown' ? evidenceOf(branch) : undefined;
    if (operation.outcome === outcome)
      return { sentence: `the client of ${operation.id} was told ${outcome}`, operations: [operation] };
    if (evidence !== undefined)
      return { sentence: evidence.sentence, operations: [operation, ...evidence.operations] };
  }
  return undefined;
}
