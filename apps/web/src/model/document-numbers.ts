/** What a document states of each claim, in its own words, beside what was measured here. */
import type { ClaimLedgerEntry, ClaimStatement } from '@shardlab/contract';
import { claimFigure } from './verdicts.ts';

export interface DocumentNumber {
  id: string;
  entry: ClaimLedgerEntry;
  statement: ClaimStatement;
  /** Value with its interval; null if nothing was measured. */
  here: string | null;
  unit: string;
}

/** A row for each claim of which the document states something, in the order of the claims. */
export function documentNumbers(
  statements: readonly ClaimStatement[],
  claims: readonly ClaimLedgerEntry[],
): DocumentNumber[] {
  return claims.flatMap((entry) => {
    const { id, last } = entry;
    const statement = statements.find(({ claim }) => claim === id);
    if (statement === undefined) return [];
    const figure = last === null ? null : claimFigure(last);
    return [
      {
        id,
        entry,
        statement,
        here: figure === null ? null : `${figure.value}${figure.range}`,
        unit: figure?.unit.trim() ?? last?.unit ?? '',
      },
    ];
  });
}
