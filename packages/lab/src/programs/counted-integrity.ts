import type { Integrity } from '@shardlab/contract';
import { type LedgerReport, mergeLedgers } from '../integrity/ledger.ts';

/**
 * The system only counts what remains (`depth`). Messages that were not consumed and are not in that count are lost. If the
 * count exceeds the messages that were not consumed, the rest was consumed and is still there: duplicated.
 */
export function integrityOf(ledgers: readonly LedgerReport[], depth: number): Integrity {
  const { lost: missing, duplicated, ...rest } = mergeLedgers(ledgers);
  return {
    ...rest,
    lost: Math.max(0, missing - depth),
    duplicated: duplicated + Math.max(0, depth - missing),
    left: depth,
  };
}

/** Sums the integrity of several subscribers, each of which gets every message. */
export function summed(all: readonly Integrity[]): Integrity {
  const sum = (part: (each: Integrity) => number) => all.reduce((total, each) => total + part(each), 0);
  return {
    lost: sum(({ lost }) => lost),
    duplicated: sum(({ duplicated }) => duplicated),
    damaged: sum(({ damaged }) => damaged),
    outOfOrder: sum(({ outOfOrder }) => outOfOrder),
    left: sum(({ left }) => left),
  };
}
