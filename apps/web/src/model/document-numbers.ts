/** A document's statement about each claim, in its own words, beside the measured result. */
import type { ClaimLedgerEntry, ClaimStatement } from '@shardlab/contract';
import { claimFigure } from './verdicts.ts';

export interface DocumentNumber {
  id: string;
  entry: ClaimLedgerEntry;
  statement: ClaimStatement;
  /** Value with its interval; null if nothing was measured. */
  measured: string | null;
  unit: string;
}

/** "A1 to A19 and W1 to W10": a range for each letter, since documents may have several. */
export function claimRanges(claims: readonly string[]): string {
  const ranges = [...Map.groupBy(claims, (id) => id.replace(/\d+$/, '')).values()].map((ids) =>
    ids.length === 1 ? ids[0]! : `${ids[0]} to ${ids.at(-1)}`,
  );
  return new Intl.ListFormat('en-GB').format(ranges);
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
        measured: figure === null ? null : `${figure.value}${figure.range}`,
        unit: figure?.unit.trim() ?? last?.unit ?? '',
      },
    ];
  });
}
