/**
 * Makes an instance's file usable again and gives up what is lost: for a person to decide, who has a copy of the folder.
 * No process may have the file open.
 *
 * Damaged partitions: readable messages are copied to a new partition, the others become terminal, and the old table is
 * never read again. Rows of the tables beside them that are damaged are deleted. Missing commits: the record of acknowledged
 * groups is deleted, and sequence numbers continue above all that can have been given out, so that none repeats.
 */
import { existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { encodeRanges, mergeRanges, type SeqRange } from '../../../model/consumption.ts';
import { groupsPerEpoch } from '../../../model/group-number.ts';
import type { GroupNumber, PartitionId, Seq } from '../../../model/ids.ts';
import type { RecoveredPartition } from '../../../model/recovered-instance.ts';
import { prepareFormat } from '../../sqlite/file-format.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile } from '../../sqlite/open-sqlite.ts';
import { syncFolder } from '../../sqlite/sync-folder.ts';
import { acknowledgedNumberPath, readAcknowledgedNumber } from '../../sqlite/write-ahead-log.ts';
import { moveAttempts } from '../tables/attempt-table.ts';
import { CorrelationIndexes } from '../tables/correlation-index.ts';
import { findLastGroup, raiseEpochTo } from '../tables/last-group.ts';
import {
  BlockWriter,
  createPartitionTable,
  deleteConsumption,
  deletePartitionRow,
  insertConsumption,
  writePartitionRow,
} from '../tables/partition-table.ts';
import type { StoredBlock } from '../tables/read-partition.ts';
import { instanceTables } from '../tables/registered-tables.ts';
import { checkPartition, type DamagedPartition, terminalRangesOf } from './check-instance-file.ts';
import { readUndamagedBlocks } from './read-undamaged-blocks.ts';
import { recoverPartitions, unknownSeqsMax } from './recover-partitions.ts';

/** Returns the partitions that were replaced, each in a transaction of its own. Throws the storage errors. */
export function repairInstanceFile(path: string): DamagedPartition[] {
  if (!existsSync(path)) {
    rmSync(acknowledgedNumberPath(path), { force: true }); // a new file starts at the first number
    return [];
  }
  const file = openSqlite({ path, busyMs: 1_000 });
  try {
    return mapSqliteErrors(path, () => {
      prepareFormat(file, instanceTables.schemaSql);
      const acknowledged = readAcknowledgedNumber(acknowledgedNumberPath(path)) ?? 0;
      const isMissing = findLastGroup(file).number < acknowledged;
      if (isMissing) skipAcknowledgedNumbers(file, acknowledged);
      file.transaction(() => instanceTables.acceptLoss(file)).immediate();
      const replaced = replaceDamagedPartitions(file);
      if (isMissing || replaced.length > 0) {
        rmSync(acknowledgedNumberPath(path), { force: true }); // groups were lost, or their rows were in a replaced partition
        syncFolder(dirname(path));
      }
      return replaced;
    });
  } finally {
    file.close();
  }
}

/** Neither an epoch nor a sequence number may repeat, whatever was lost. */
function skipAcknowledgedNumbers(file: SqliteFile, acknowledged: GroupNumber): void {
  const epoch = Math.floor(acknowledged / groupsPerEpoch); // raised once more by the next opening
  const ends = [...lastPartitionOfEachShard(recoverPartitions(file).partitions)].filter(
    ({ damageReason }) => damageReason === null,
  );
  const write = file.transaction(() => {
    raiseEpochTo(file, epoch);
    for (const last of ends) markTerminal(file, last, last.partition, [skippedRange(last.endSeq)]);
  });
  write.immediate();
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
