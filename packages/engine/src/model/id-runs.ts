/**
 * Ids of the messages that a transaction enqueued, as runs of consecutive numbers in the order of its enqueue calls: a
 * few bytes whatever their count. Their encoding in outcomes and on the wire:
 *
 *     u32 shard (0: an unsharded queue) · f64 first sequence number · u32 count, once for each run
 */
import type { LogId, Seq } from './ids.ts';

export interface IdRun {
  shard: LogId;
  firstSeq: Seq;
  count: number;
}

/** Encoded size of one run. */
export const idRunBytes = 16;

export function idRunsBytes(runs: readonly IdRun[]): number {
  return runs.length * idRunBytes;
}

/** Writes `idRunsBytes` at `start`; returns where they end. */
export function writeIdRuns(target: Buffer, start: number, runs: readonly IdRun[]): number {
  let at = start;
  for (const { shard, firstSeq, count } of runs) {
    target.writeUInt32LE(shard, at);
    target.writeDoubleLE(firstSeq, at + 4);
    target.writeUInt32LE(count, at + 12);
    at += idRunBytes;
  }
  return at;
}

/** `end - start` must be a whole number of runs. */
export function readIdRuns(source: Buffer, start: number, end: number): IdRun[] {
  const runs: IdRun[] = [];
  for (let at = start; at < end; at += idRunBytes) {
    runs.push({
      shard: source.readUInt32LE(at),
      firstSeq: source.readDoubleLE(at + 4),
      count: source.readUInt32LE(at + 12),
    });
  }
  return runs;
}

/** The ids as a client sees them. */
export function messageIdsOf(runs: readonly IdRun[]): string[] {
  const ids: string[] = [];
  for (const { shard, firstSeq, count } of runs) {
    const prefix = shard === 0 ? '' : `${shard}.`;
    for (let seq = firstSeq; seq < firstSeq + count; seq += 1) ids.push(`${prefix}${seq}`);
  }
  return ids;
}
