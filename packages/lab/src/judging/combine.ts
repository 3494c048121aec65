/** How the clauses of a claim become one verdict: docs/decisions/verdicts.md has the tables. */
import type { ClaimClause, ClaimResult, Verdict } from '@shardlab/contract';

export type Judgement = Omit<
  ClaimResult,
  'id' | 'title' | 'document' | 'grade' | 'weak' | 'notSteady' | 'disturbed'
>;

/** Statements under one condition: all must hold, and the worst decides. */
export function verdictOfStatements(verdicts: readonly Verdict[]): Verdict {
  const worstFirst: readonly Verdict[] = ['does-not-hold', 'mixed', 'inconclusive', 'not-comparable'];
  return worstFirst.find((verdict) => verdicts.includes(verdict)) ?? 'holds';
}

/**
 * Conditions of one claim. It is mixed if it holds under one and fails under another. Undecided ones keep it from
 * holding, and those that are not comparable count only if there are no others.
 */
export function verdictOfConditions(verdicts: readonly Verdict[]): Verdict {
  const has = (verdict: Verdict) => verdicts.includes(verdict);
  if (has('mixed') || (has('holds') && has('does-not-hold'))) return 'mixed';
  if (has('does-not-hold')) return 'does-not-hold';
  if (has('inconclusive')) return 'inconclusive';
  return has('holds') ? 'holds' : 'not-comparable';
}

interface ConditionVerdict {
  condition: string | null;
  verdict: Verdict;
  /** The clauses that decided: those with its verdict, of which the first gives its number. */
  deciding: readonly ClaimClause[];
}

/** Clauses must not be empty. */
export function combine(clauses: readonly ClaimClause[]): Judgement {
  const conditions = [...Map.groupBy(clauses, ({ condition }) => condition)].map(
    ([condition, group]): ConditionVerdict => {
      const verdict = verdictOfStatements(group.map((clause) => clause.verdict));
      return { condition, verdict, deciding: group.filter((clause) => clause.verdict === verdict) };
    },
  );
  const verdict = verdictOfConditions(conditions.map((each) => each.verdict));
  const shown = verdict === 'mixed' ? 'does-not-hold' : verdict;
  const { value, unit, interval } = conditions.find((each) => each.verdict === shown)!.deciding[0]!;
  const measured = clauses.filter((clause) => clause.verdict !== 'not-comparable');
  const provenances = clauses.filter((clause) => clause.value !== null).map(({ provenance }) => provenance);
  return {
    verdict,
    value,
    unit,
    interval,
    repeats: measured.length === 0 ? 0 : Math.min(...measured.map(({ repeats }) => repeats)),
    provenance: provenances.find((provenance) => provenance !== 'measured') ?? provenances[0] ?? null,
    provisional: measured.some(({ provisional }) => provisional),
    reason: conditions.map(conditionInWords).join(' '),
    clauses: [...clauses],
  };
}

const verdictWords: Readonly<Record<Verdict, string>> = {
  holds: 'holds',
  mixed: 'mixed',
  'does-not-hold': 'does not hold',
  inconclusive: 'inconclusive',
  'not-comparable': 'not comparable',
};

/** "As it is: does not hold. Adding instances …" Of several statements that hold, the first is enough. */
function conditionInWords({ condition, verdict, deciding }: ConditionVerdict): string {
  const told = verdict === 'holds' ? deciding.slice(0, 1) : deciding;
  const sentences = told.map(({ statement, reason }) => {
    if (statement === '') return reason;
    // Without measurements in words the reason begins with a sentence of its own.
    return reason.startsWith('Needed:') ? `${statement}. ${reason}` : `${statement}: ${reason}`;
  });
  const words = sentences.map(capital).join(' ');
  return condition === null ? words : `${capital(condition)}: ${verdictWords[verdict]}. ${words}`;
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
