/** Verdicts that consist of several clauses, each with its own verdict. */
import type { Verdict } from '@shardlab/contract';

export interface Clause {
  verdict: Verdict;
  /** A sentence with the numbers. */
  words: string;
}

/** All clauses must hold; one that does not is enough to refute. */
export function verdictOf(clauses: readonly Pick<Clause, 'verdict'>[]): Verdict {
  const verdicts = clauses.map(({ verdict }) => verdict);
  if (verdicts.includes('does-not-hold')) return 'does-not-hold';
  return verdicts.length > 0 && verdicts.every((verdict) => verdict === 'holds') ? 'holds' : 'inconclusive';
}

const inWords = { holds: 'Holds', 'does-not-hold': 'Does not hold', inconclusive: 'Open' } as const;

/** Clauses of one verdict that are written out; of the others only the number. */
const wordsMax = 4;

/** Those that do not hold come first. */
export function clausesInWords(clauses: readonly Clause[]): string {
  return (['does-not-hold', 'inconclusive', 'holds'] as const)
    .flatMap((verdict) => {
      const words = clauses.filter((clause) => clause.verdict === verdict).map((clause) => clause.words);
      if (words.length === 0) return [];
      const others = words.length > wordsMax ? `; and ${words.length - wordsMax} more` : '';
      return [`${inWords[verdict]}: ${words.slice(0, wordsMax).join('; ')}${others}.`];
    })
    .join(' ');
}
