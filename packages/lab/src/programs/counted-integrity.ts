import type { Integrity } from '@shardlab/contract';
import { type LedgerReport, mergeLedgers } from '../trial/ledger.ts';

/**
 * The integrity of a trial whose remaining messages are counted by the system, not read: messages that are neither consumed
 * nor counted are lost, and what is counted beyond those that were not consumed was consumed and is still there.
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
