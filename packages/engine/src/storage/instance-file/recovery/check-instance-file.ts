/** Checks an instance's file without changing it: acknowledged commits, every block, and every row of other tables. */

import { existsSync } from 'node:fs';
import { decodeRanges, mergeRanges, type SeqRange } from '../../../model/consumption.ts';
import { formatGroupNumber, groupsPerEpoch } from '../../../model/group-number.ts';
import type { Epoch, GroupNumber, LogId, PartitionId, QueueId } from '../../../model/ids.ts';
import type { RecoveredPartition } from '../../../model/recovered-instance.ts';
import { isNewFile } from '../../sqlite/file-format.ts';
import { openSqlite, type SqliteFile, toQueueError } from '../../sqlite/open-sqlite.ts';
import { acknowledgedNumberPath, readAcknowledgedNumber } from '../../sqlite/write-ahead-log.ts';
import { findDurableEnd, findLastGroup, withLaterSnapshots } from '../tables/last-group.ts';
import { instanceTables } from '../tables/registered-tables.ts';
import { readUndamagedBlocks } from './read-undamaged-blocks.ts';
import { recoverPartitions } from './recover-partitions.ts';

export interface DamagedPartition {
  partition: PartitionId;
  queueId: QueueId;
  shard: LogId;
  /** A clause in words, without a full stop. */
  damageReason: string;
  /** Messages that can be read, consumed ones included. */
  readableMessages: number;
  /** Numbers of messages that cannot be read and are not known to be consumed. */
  missingRanges: SeqRange[];
}

export interface InstanceFileCheck {
  path: string;
  /** The last group that was acknowledged as synced; null if that is not known. */
  acknowledgedGroup: GroupNumber | null;
  /** The last group found, in the redo log or in the file. */
  lastGroup: GroupNumber;
  /** Groups of the redo log that the tables do not have: the next opening applies them. */
  unappliedGroups: number;
  partitions: number;
  /** Messages in the tables of the partitions that are not consumed by all. */
  unconsumedMessages: number;
  damagedPartitions: DamagedPartition[];
  /** All damage, in sentences; empty if the file is undamaged. */
  faults: string[];
}

/** Reads the whole file; another process may be writing to it. Throws the storage errors if it cannot be read at all. */
export function checkInstanceFile(path: string, epochKnown: Epoch = 0): InstanceFileCheck {
  // Read before the file: what is acknowledged at this moment must be in the file afterwards.
  const recorded = readAcknowledgedNumber(acknowledgedNumberPath(path)) ?? null;
  const known = epochKnown * groupsPerEpoch;
  const acknowledged = recorded === null && known === 0 ? null : Math.max(recorded ?? 0, known);
  const check: InstanceFileCheck = {
    path,
    acknowledgedGroup: acknowledged,
    lastGroup: 0,
    unappliedGroups: 0,
    partitions: 0,
    unconsumedMessages: 0,
    damagedPartitions: [],
    faults: [],
  };
  let formatKnown = true;
  if (existsSync(path)) formatKnown = readInstanceFile(path, check);
  else check.faults.push(`${path} is missing`);
  if (
    formatKnown &&
    acknowledged !== null &&
    check.lastGroup < acknowledged &&
    check.damagedPartitions.length === 0
  ) {
    check.faults.push(
      `Group ${formatGroupNumber(acknowledged)} was acknowledged, and the last one found is ${formatGroupNumber(check.lastGroup)}: acknowledged commits are missing`,
    );
  }
  return check;
}

/** Returns false for a file of another format, of which nothing is read. */
function readInstanceFile(path: string, check: InstanceFileCheck): boolean {
  const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
  try {
    if (isNewFile(file)) return true;
    readSnapshotWithEnd(path, file, check);
    const { partitions, unusablePartitions } = recoverPartitions(file);
    check.partitions = partitions.length;
    for (const partition of partitions) {
      const damaged = checkPartition(file, partition);
      if (damaged === undefined)
        check.unconsumedMessages += partition.messages - countTerminalMessages(partition);
      else {
        check.damagedPartitions.push(damaged);
        check.faults.push(
          `Partition ${damaged.partition} of shard ${damaged.shard} is damaged: ${damaged.damageReason}; ${damaged.readableMessages} messages can be read`,
        );
      }
    }
    check.faults.push(...instanceTables.findFaults(file));
    for (const partition of unusablePartitions)
      check.faults.push(`Partition ${partition}, which is free, is damaged`);
    return true;
  } catch (error) {
    const { code, message } = toQueueError(error, path);
    check.faults.push(message);
    return code !== 'STORAGE_FORMAT_OLDER' && code !== 'STORAGE_FORMAT_NEWER';
  } finally {
    file.close();
  }
}

/** Begins the transaction whose snapshot all later reads have. */
function readSnapshotWithEnd(path: string, file: SqliteFile, check: InstanceFileCheck): void {
  try {
    const { number, unapplied } = withLaterSnapshots(() => {
      if (file.inTransaction) file.exec('ROLLBACK');
      file.exec('BEGIN');
      return findDurableEnd(path, file);
    });
    check.lastGroup = number;
    check.unappliedGroups = unapplied;
  } catch (error) {
    check.lastGroup = findLastGroup(file).number;
    check.faults.push(toQueueError(error, path).message);
  }
}

/** The damage of a partition, if any: what recovery found, and the checksum of every block. */
export function checkPartition(
  file: SqliteFile,
  partition: RecoveredPartition,
): DamagedPartition | undefined {
  const { blocks, damagedBlocks, allPagesReadable } = readUndamagedBlocks(file, partition.partition);
  const damage =
    partition.damageReason ??
    (damagedBlocks > 0 ? `${damagedBlocks} blocks have a wrong checksum` : null) ??
    (allPagesReadable ? null : 'a page of it cannot be read');
  if (damage === null) return undefined;
  const covered = blocks.map(({ firstSeq, count }): SeqRange => [firstSeq, firstSeq + count]);
  const end = Math.max(partition.unknownFromSeq ?? partition.endSeq, ...covered.map(([, to]) => to));
  return {
    partition: partition.partition,
    queueId: partition.queueId,
    shard: partition.shard,
    damageReason: damage,
    readableMessages: blocks.reduce((sum, { count }) => sum + count, 0),
    missingRanges: gapsBetween([...covered, ...terminalRangesOf(partition)], [partition.firstSeq, end]),
  };
}

/** Ranges that the file records as terminal for all subscribers. */
export function terminalRangesOf({
  firstSeq,
  terminalDeltas,
  unknownFromSeq,
}: RecoveredPartition): SeqRange[] {
  const forAll = terminalDeltas.filter(({ subscriber }) => subscriber === 0);
  const ranges = mergeRanges(forAll.flatMap(({ ranges: bytes }) => decodeRanges(bytes, firstSeq)));
  return unknownFromSeq === null ? ranges : ranges.filter(([start]) => start < unknownFromSeq);
}

function countTerminalMessages(partition: RecoveredPartition): number {
  return terminalRangesOf(partition).reduce((sum, [start, end]) => sum + end - start, 0);
}

function gapsBetween(ranges: readonly SeqRange[], [start, end]: SeqRange): SeqRange[] {
  const gaps: SeqRange[] = [];
  let at = start;
  for (const [from, to] of mergeRanges(ranges)) {
    if (from > at && at < end) gaps.push([at, Math.min(from, end)]);
    at = Math.max(at, to);
  }
  if (at < end) gaps.push([at, end]);
  return gaps;
}
