/**
 * Makes an instance's file usable again and gives up what is lost: for a person to decide, who has a copy of the folder.
 * No process may have the file open.
 *
 * Damaged partitions: readable messages are copied to a new partition, the others become terminal, and the old table is
 * never read again. Rows of the tables beside them that are damaged are deleted. What of the redo log can be read is applied before.
 * Missing commits, and partitions that the pool has lost: the redo log ends, and the next opening begins another one; the record of
 * acknowledged groups is deleted; and the sequence numbers of each shard that has a partition left continue above
 * all that can have been given out, so that none repeats.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { QueueErrorCode } from '../../api/errors.ts';
import { encodeRanges, mergeRanges, type SeqRange } from '../../model/consumption.ts';
import { groupsPerEpoch } from '../../model/group-number.ts';
import type { Epoch, GroupNumber, PartitionId, Seq } from '../../model/ids.ts';
import type { Clock } from '../../model/ports.ts';
import type { RecoveredPartition } from '../../model/recovered-instance.ts';
import { isSegmentOf } from '../redo/segment-files.ts';
import { prepareFormat } from '../sqlite/file-format.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile, toQueueError } from '../sqlite/open-sqlite.ts';
import { syncFolder } from '../sqlite/sync-folder.ts';
import { acknowledgedNumberPath, readAcknowledgedNumber } from '../sqlite/write-ahead-log.ts';
import { InstanceFile } from './instance-file.ts';
import { checkPartition, type DamagedPartition, terminalRangesOf } from './recovery/check-instance-file.ts';
import { readUndamagedBlocks } from './recovery/read-undamaged-blocks.ts';
import { recoverPartitions, unknownSeqsMax } from './recovery/recover-partitions.ts';
import { moveAttempts } from './tables/attempt-table.ts';
import { CorrelationIndexes } from './tables/correlation-index.ts';
import { findLastGroup, raiseEpochTo } from './tables/last-group.ts';
import {
  BlockWriter,
  createPartitionTable,
  deleteConsumption,
  deletePartitionRow,
  insertConsumption,
  partitionPool,
  writeFreePartition,
  writePartitionRow,
} from './tables/partition-table.ts';
import { readPartitionSize, readUndamagedPartitionRows, type StoredBlock } from './tables/read-partition.ts';
import { endLog } from './tables/redo-tables.ts';
import { instanceTables } from './tables/registered-tables.ts';

export interface InstanceFileRepair {
  /** The partitions that were replaced. */
  replaced: DamagedPartition[];
  /** What is lost besides, in sentences. */
  accepted: string[];
}

/** Throws the storage errors. A repair that was interrupted can be repeated, and so can one that was followed by new damage. */
export function repairInstanceFile(path: string, clock: Clock, epochKnown: Epoch = 0): InstanceFileRepair {
  if (!existsSync(path)) {
    rmSync(acknowledgedNumberPath(path), { force: true }); // a new file starts at the first number
    removeSegments(path);
    return { replaced: [], accepted: [] };
  }
  const log = applyLog(path, clock);
  const file = openSqlite({ path, busyMs: 1_000 });
  try {
    return mapSqliteErrors(path, () => {
      prepareFormat(file, instanceTables.schemaSql);
      const acknowledged = Math.max(
        log.claimed,
        epochKnown * groupsPerEpoch,
        readAcknowledgedNumber(acknowledgedNumberPath(path)) ?? 0,
      );
      const isMissing = findLastGroup(file).number < acknowledged;
      const lostOfPool = findLossOfPool(file);
      const isLossOfCommits = isMissing || log.lost.length > 0 || lostOfPool !== undefined;
      // Read before the transaction: SQLite creates no table in one in which it met damage.
      const ends = isLossOfCommits ? endsOfShards(file) : [];
      const acceptLoss = file.transaction(() => {
        if (isLossOfCommits) endLog(file);
        const accepted = instanceTables.acceptLoss(file);
        if (isMissing) raiseEpochTo(file, Math.floor(acknowledged / groupsPerEpoch)); // raised once more by the next opening
        for (const last of ends) skipNumbersBehind(file, last);
        // A pool without its last rows would give out the tables of those partitions, with the old messages in them.
        if (lostOfPool !== undefined) addFreePartition(file);
        return [...log.lost, ...accepted, ...(lostOfPool ?? [])];
      });
      const accepted = acceptLoss.immediate();
      if (isLossOfCommits) removeSegments(path);
      const replaced = replaceDamagedPartitions(file);
      if (isLossOfCommits || replaced.length > 0) {
        rmSync(acknowledgedNumberPath(path), { force: true }); // groups were lost, or partitions with their rows
        syncFolder(dirname(path));
      }
      return { replaced, accepted };
    });
  } finally {
    file.close();
  }
}

/** What cannot be applied is said: the file itself may be too damaged. */
function applyLog(path: string, clock: Clock): { claimed: GroupNumber; lost: string[] } {
  try {
    const file = new InstanceFile(path, clock, { acceptsLoss: true });
    try {
      return file.applyReadableLog();
    } finally {
      file.close();
    }
  } catch (error) {
    const { code, message } = toQueueError(error, path);
    if (unrepairable.includes(code)) throw error;
    return { claimed: 0, lost: [`The redo log of ${path} cannot be applied: ${message}`] };
  }
}

const unrepairable: readonly QueueErrorCode[] = [
  'STORAGE_FULL',
  'STORAGE_READ_ONLY',
  'STORAGE_FORMAT_NEWER',
  'STORAGE_FORMAT_OLDER',
];

function removeSegments(path: string): void {
  const dir = dirname(path);
  for (const name of readdirSync(dir)) if (isSegmentOf(path, name)) rmSync(join(dir, name));
}

/** Sentences about partitions that a damaged pool has lost: of which queue their messages are is not known. Undefined: it is intact. */
function findLossOfPool(file: SqliteFile): string[] | undefined {
  if (partitionPool.findFaults(file).length === 0) return undefined;
  const known = new Set(partitionPool.readUndamaged(file).map(({ partition }) => partition));
  const all = file.prepare('SELECT partition FROM partition').pluck().all() as PartitionId[];
  return all
    .filter((partition) => !known.has(partition))
    .map((partition) => ({ partition, messages: countMessages(file, partition) }))
    .filter(({ messages }) => messages !== 0)
    .map(
      ({ partition, messages }) =>
        `Partition ${partition} of ${file.name} is given up with ${messages ?? 'all its'} messages: it is not known of which queue they are`,
    );
}

/** Undefined if the partition cannot be read. */
function countMessages(file: SqliteFile, partition: PartitionId): number | undefined {
  try {
    return readPartitionSize(file, partition).messages;
  } catch {
    return undefined;
  }
}

function addFreePartition(file: SqliteFile): void {
  const partition = nextPartitionNumber(file);
  createPartitionTable(file, partition);
  writeFreePartition(file, partition);
}

/** The last partitions of all shards, except damaged ones: those are replaced, and their numbers skipped then. */
function endsOfShards(file: SqliteFile): RecoveredPartition[] {
  const { partitions } = recoverPartitions(file, readUndamagedPartitionRows(file));
  return [...lastPartitionOfEachShard(partitions)].filter(({ damageReason }) => damageReason === null);
}

/** No sequence number may repeat, whatever was lost, and however often the shard was repaired. */
function skipNumbersBehind(file: SqliteFile, last: RecoveredPartition): void {
  const terminal = terminalRangesOf(last);
  const end = Math.max(last.endSeq, ...terminal.map(([, to]) => to));
  markTerminal(file, last, last.partition, [...terminal, skippedRange(end)]);
}

function lastPartitionOfEachShard(partitions: readonly RecoveredPartition[]): Iterable<RecoveredPartition> {
  return new Map(
    partitions.map((partition) => [`${partition.queueId} ${partition.shard}`, partition]),
  ).values();
}

function replaceDamagedPartitions(file: SqliteFile): DamagedPartition[] {
  const { partitions } = recoverPartitions(file);
  const filling = new Set(lastPartitionOfEachShard(partitions));
  const replaced: DamagedPartition[] = [];
  for (const partition of partitions) {
    const damaged = checkPartition(file, partition);
    if (damaged === undefined) continue;
    // Read before the transaction: SQLite creates no table in one in which it met damage.
    const { blocks } = readUndamagedBlocks(file, partition.partition);
    const write = file.transaction(() =>
      replacePartition(file, partition, { blocks, damaged, isFilling: filling.has(partition) }),
    );
    write.immediate();
    replaced.push(damaged);
  }
  return replaced;
}

const skippedRange = (from: Seq): SeqRange => [from, from + unknownSeqsMax];

function replacePartition(
  file: SqliteFile,
  old: RecoveredPartition,
  { blocks, damaged, isFilling }: { blocks: StoredBlock[]; damaged: DamagedPartition; isFilling: boolean },
): void {
  const partition = nextPartitionNumber(file);
  createPartitionTable(file, partition);
  const writer = new BlockWriter(file);
  const indexes = new CorrelationIndexes(file);
  indexes.setIndexed({ partition, hasCorrelationIndex: indexes.partitions.has(old.partition) });
  for (const { firstSeq, count, body, groupNumber } of blocks) {
    const entry = { partition, firstSeq, count, offset: 0, length: body.byteLength };
    writer.write(entry, groupNumber, Buffer.from(body));
    if (indexes.partitions.has(partition)) indexes.write(entry, Buffer.from(body));
  }
  deletePartitionRow(file, old.partition);
  writePartitionRow(file, { ...old, partition });
  moveAttempts(file, old.partition, partition);
  deleteConsumption(file, old.partition);
  for (const [subscriber, rows] of Map.groupBy(old.terminalDeltas, (delta) => delta.subscriber)) {
    if (subscriber === 0) continue;
    for (const [index, { ranges }] of rows.entries())
      insertConsumption(file, { partition, subscriber, groupNumber: index }, ranges);
  }
  const lastEnd = blocks.reduce((end, { firstSeq, count }) => Math.max(end, firstSeq + count), old.firstSeq);
  const ends = [...terminalRangesOf(old), ...damaged.missingRanges].map(([, end]) => end);
  const beyond = isFilling ? [skippedRange(Math.max(lastEnd, ...ends))] : [];
  markTerminal(file, old, partition, [...terminalRangesOf(old), ...damaged.missingRanges, ...beyond]);
}

/** Above all partitions that have a table, which may be damaged. */
function nextPartitionNumber(file: SqliteFile): PartitionId {
  const tables = file
    .prepare(
      "SELECT max(CAST(substr(name, 11) AS INTEGER)) FROM sqlite_schema WHERE name GLOB 'partition_[0-9]*'",
    )
    .pluck()
    .get() as PartitionId | null;
  return (tables ?? 0) + 1;
}

/** `ranges` must include what an earlier repair has marked in the same way. */
function markTerminal(
  file: SqliteFile,
  { firstSeq }: RecoveredPartition,
  partition: PartitionId,
  ranges: readonly SeqRange[],
): void {
  const merged = mergeRanges(ranges);
  if (merged.length === 0) return;
  insertConsumption(
    file,
    { partition, subscriber: 0, groupNumber: 0 },
    Uint8Array.from(encodeRanges(merged, firstSeq)),
  );
}
