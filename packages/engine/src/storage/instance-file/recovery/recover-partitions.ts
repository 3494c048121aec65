/**
 * Reads the state of all partitions for recovery. A partition that cannot be read, or whose checksum does not match, is returned
 * as damaged; the others are served nevertheless. The pool's own table must be undamaged: `STORAGE_CORRUPT`.
 */

import { QueueError } from '../../../api/errors.ts';
import { decodeRanges, encodeRanges, mergeRanges } from '../../../model/consumption.ts';
import type { Seq, SubscriberId } from '../../../model/ids.ts';
import type { RecoveredInstance, RecoveredPartition } from '../../../model/recovered-instance.ts';
import { type SqliteFile, toQueueError } from '../../sqlite/open-sqlite.ts';
import { readAttempts } from '../tables/attempt-table.ts';
import type { PartitionRow } from '../tables/partition-table.ts';
import {
  assertEndUndamaged,
  iterateBlockRanges,
  readConsumption,
  readPartitionRows,
  readPartitionSize,
} from '../tables/read-partition.ts';

/** More sequence numbers than a partition can have given out: its messages and the gaps of failed groups between them. */
export const unknownSeqsMax = 2 ** 32;

type AssignedPartitionRow = { [Key in keyof PartitionRow]: NonNullable<PartitionRow[Key]> };
type ConsumptionRow = { subscriber: SubscriberId; ranges: Uint8Array; undamaged: boolean };

/** `pool`: its rows by owner and sequence number, where a repair has only the undamaged ones. */
export function recoverPartitions(
  file: SqliteFile,
  pool: readonly PartitionRow[] = readPartitionRows(file),
): Pick<RecoveredInstance, 'freePartitions' | 'unusablePartitions' | 'partitions'> {
  const consumption = readConsumption(file);
  const found: ReturnType<typeof recoverPartitions> = {
    freePartitions: [],
    unusablePartitions: [],
    partitions: [],
  };
  for (const [index, row] of pool.entries()) {
    if (!isAssigned(row)) {
      const usable = findDamage(file, () => readPartitionSize(file, row.partition)) === null;
      (usable ? found.freePartitions : found.unusablePartitions).push(row.partition);
      continue;
    }
    const next = pool[index + 1];
    const isFilling = next?.queueId !== row.queueId || next.shard !== row.shard;
    const rows = consumption.get(row.partition) ?? [];
    found.partitions.push(recoverPartition(file, row, rows, isFilling ? null : next.firstSeq));
  }
  return found;
}

function isAssigned(row: PartitionRow): row is AssignedPartitionRow {
  return row.queueId !== null;
}

function recoverPartition(
  file: SqliteFile,
  row: AssignedPartitionRow,
  consumption: readonly ConsumptionRow[],
  /** First sequence number of the log's next partition; null for the last one, which is filling. */
  nextSeq: Seq | null,
): RecoveredPartition {
  const terminal = consumption.filter(({ undamaged }) => undamaged);
  const damagedRows = consumption.length - terminal.length;
  const empty = { endSeq: row.firstSeq, bytes: 0, messages: 0, attempts: [] };
  const recovered: RecoveredPartition = {
    ...row,
    ...empty,
    terminalDeltas: terminal.map(({ subscriber, ranges }) => ({ subscriber, ranges })),
    damageReason: null,
    unknownFromSeq: null,
  };
  const damage = findDamage(file, () => {
    Object.assign(recovered, readPartitionSize(file, row.partition), {
      attempts: readAttempts(file, row.partition),
    });
    // The log continues where its last block ends, and must never give out a number twice.
    if (nextSeq === null) assertEndUndamaged(file, row.partition);
    if (damagedRows > 0) throw corruptionError(`${damagedRows} rows of what was consumed of it are damaged`);
    assertNoMessageMissing(file, recovered, nextSeq ?? recovered.endSeq);
  });
  return damage === null ? recovered : asDamaged(recovered, damage, nextSeq);
}

/** Every sequence number is that of a message or of a failed group, whose numbers are recorded as terminal. */
function assertNoMessageMissing(file: SqliteFile, partition: RecoveredPartition, endSeq: Seq): void {
  const { firstSeq, messages, terminalDeltas } = partition;
  if (partition.endSeq > endSeq) throw corruptionError('messages of it have numbers of the next one');
  if (messages === endSeq - firstSeq) return;
  const recorded = terminalDeltas.filter(({ subscriber }) => subscriber === 0);
  const gaps = mergeRanges(recorded.flatMap(({ ranges }) => decodeRanges(ranges, firstSeq)));
  const isGap = (start: Seq, end: Seq) => gaps.some(([from, to]) => from <= start && end <= to);
  let at = firstSeq;
  for (const [start, end] of [...iterateBlockRanges(file, partition.partition), [endSeq, endSeq] as const]) {
    if (start < at || (start > at && !isGap(at, start)))
      throw corruptionError(`message ${at} of it is missing`);
    at = end;
  }
}

function corruptionError(sentence: string): QueueError {
  return new QueueError('STORAGE_CORRUPT', { message: sentence });
}

/**
 * Numbers that are not known to be terminal count as live, so that no message is dropped silently. The end of a log's last
 * partition is unknown, and the log must continue above it: one number above the known ones stays live, and the rest up to the
 * new end becomes terminal.
 */
function asDamaged(partition: RecoveredPartition, damage: string, nextSeq: Seq | null): RecoveredPartition {
  const { firstSeq, terminalDeltas } = partition;
  if (nextSeq !== null)
    return { ...partition, damageReason: damage, endSeq: nextSeq, messages: nextSeq - firstSeq };
  const ends = terminalDeltas.map(({ ranges }) => decodeRanges(ranges, firstSeq).at(-1)?.[1] ?? firstSeq);
  const unknown = Math.max(partition.endSeq, ...ends);
  const endSeq = unknown + unknownSeqsMax;
  const rest = Uint8Array.from(encodeRanges([[unknown + 1, endSeq]], firstSeq));
  return {
    ...partition,
    damageReason: damage,
    endSeq,
    unknownFromSeq: unknown,
    messages: unknown + 1 - firstSeq,
    terminalDeltas: [...terminalDeltas, { subscriber: 0, ranges: rest }],
  };
}

/** The damage that keeps the work from being done, or null. Throws other errors: they say nothing about the partition. */
function findDamage(file: SqliteFile, work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    const { code, message } = toQueueError(error, file.name);
    if (code !== 'STORAGE_CORRUPT') throw error;
    return message;
  }
}
