/** What a document states of each claim beside what was measured here. A document's own words are kept; no number is guessed. */
import type { ClaimLedgerEntry, ScenarioEntry } from '@shardlab/contract';
import { formatValue } from './format.ts';

export interface DocumentNumber {
  id: string;
  entry: ClaimLedgerEntry;
  /** The reference lines of its scenarios, which carry the document's number, or else the claim's title. */
  stated: string;
  /** "figure 3"; null if the claim names no figure, table or section. */
  where: string | null;
  /** Value with its interval; null if nothing was measured. */
  here: string | null;
  unit: string;
}

export function documentNumbers(
  claims: readonly ClaimLedgerEntry[],
  scenarios: readonly ScenarioEntry[],
): DocumentNumber[] {
  return claims.map((entry) => {
    const { id, title, document, last } = entry;
    const references = scenarios
      .flatMap(({ scenario }) => scenario.references ?? [])
      .filter(({ claim }) => claim === id)
      .map(({ label }) => label.replace(/^[^:]*: /, ''));
    const interval = last?.interval ?? null;
    const range = interval === null ? '' : ` (${formatValue(interval[0])} to ${formatValue(interval[1])})`;
    return {
      id,
      entry,
      stated: [...new Set(references)].join('; ') || title,
      where: /\b(figure|table|section|case|plan)s? \d+(\.\d+)?/i.exec(document)?.[0]?.toLowerCase() ?? null,
      here: last?.value == null ? null : `${formatValue(last.value)}${range}`,
      unit: last?.unit ?? '',
    };
  });
}
