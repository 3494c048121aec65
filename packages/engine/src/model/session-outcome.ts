/**
 * How the last transaction of each remote session ended, as bytes. A group commit writes the outcomes of all its
 * transactions one after the other into its buffer:
 *
 *     16 bytes session id · f64 transaction number · u32 byte length of the id runs · id runs (`id-runs.ts`)
 */

import { type IdRun, idRunsBytes, readIdRuns, writeIdRuns } from './id-runs.ts';
import type { GroupNumber, TransactionNumber } from './ids.ts';

export const sessionIdBytes = 16;

const headerBytes = sessionIdBytes + 12;

export interface SessionOutcome {
  /** 16 bytes that the client chose. */
  sessionId: Uint8Array;
  /** Number of the transaction within its session. */
  transactionNumber: TransactionNumber;
  enqueuedIdRuns: readonly IdRun[];
}

/** The outcomes that one group commit stored. */
export interface GroupOutcomeRow {
  groupNumber: GroupNumber;
  outcomes: SessionOutcome[];
}

export function encodedOutcomeBytes(runs: readonly IdRun[]): number {
  return headerBytes + idRunsBytes(runs);
}

/** Writes `encodedOutcomeBytes` bytes at `start`; returns the offset behind them. */
export function encodeOutcome(
  target: Buffer,
  start: number,
  { sessionId, transactionNumber, enqueuedIdRuns }: SessionOutcome,
): number {
  target.set(sessionId, start);
  target.writeDoubleLE(transactionNumber, start + sessionIdBytes);
  target.writeUInt32LE(idRunsBytes(enqueuedIdRuns), start + sessionIdBytes + 8);
  return writeIdRuns(target, start + headerBytes, enqueuedIdRuns);
}

/** All outcomes of one row. */
export function decodeOutcomes(source: Buffer): SessionOutcome[] {
  const outcomes: SessionOutcome[] = [];
  for (let at = 0; at < source.length; ) {
    const ids = at + headerBytes;
    const end = ids + source.readUInt32LE(ids - 4);
    outcomes.push({
      sessionId: source.subarray(at, at + sessionIdBytes),
      transactionNumber: source.readDoubleLE(at + sessionIdBytes),
      enqueuedIdRuns: readIdRuns(source, ids, end),
    });
    at = end;
  }
  return outcomes;
}
