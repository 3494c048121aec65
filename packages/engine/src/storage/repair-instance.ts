/**
 * Makes an instance's file usable again, at the price of what is lost: for a person to decide, with a copy of the folder
 * at hand. Nobody may have the file open.
 *
 * Damaged partitions: what can be read of one is written to a new partition, what cannot becomes terminal, and the old
 * table is never looked at again. Missing commits: what was acknowledged is forgotten, and numbers go on above all that
 * can have been given out, so that none comes twice.
 */
import { existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { encodeRanges, mergeRanges, type SeqRange } from '../core/consumption.ts';
import { acknowledgedPath, readAcknowledged } from './acknowledged.ts';
import { checkPartition, type DamagedPartition, terminalOf } from './check-instance.ts';
import { deltaChecksum, poolChecksum } from './checksum.ts';
import { CorrelationIndexes } from './correlation-index.ts';
import type { RecoveredPartition } from './group-message.ts';
import { findLastGroup, groupsPerEpoch } from './last-group.ts';
import { BlockWriter, createPartition, type StoredBlock } from './partition-table.ts';
import { recoverPartitions, unknownNumbersMax } from './recover-partitions.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile } from './sqlite.ts';
import { syncFolder } from './sync-folder.ts';
import { readWholeBlocks } from './whole-blocks.ts';

/** Returns the partitions that were replaced, each in a transaction of its own. Throws the storage errors. */
export function repairInstance(path: string): DamagedPartition[] {
  if (!existsSync(path)) {
    rmSync(acknowledgedPath(path), { force: true }); // it begins anew, from the first number
    return [];
  }
  const file = openSqlite({ path, busyMs: 1_000 });
  try {
    return mapSqliteErrors(path, () => {
      const acknowledged = readAcknowledged(acknowledgedPath(path)) ?? 0;
      const isMissing = findLastGroup(file).no < acknowledged;
      if (isMissing) goOnAbove(file, acknowledged);
      const replaced = replaceDamaged(file);
      if (isMissing || replaced.length > 0) {
        rmSync(acknowledgedPath(path), { force: true }); // groups were lost, or left with their partition
        syncFolder(dirname(path));
      }
      return replaced;
    });
  } finally {
    file.close();
  }
}

/** Neither the epoch nor a number of a shard may come again, whatever was lost. */
function goOnAbove(file: SqliteFile, acknowledged: number): void {
  const epoch = Math.floor(acknowledged / groupsPerEpoch); // raised once more by the next opening
  const ends = [...lastOfEachShard(recoverPartitions(file).partitions)].filter(
    ({ damage }) => damage === null,
  );
  const write = file.transaction(() => {
    file.prepare("UPDATE meta SET value = max(value, ?) WHERE key = 'epoch'").run(epoch);
    for (const last of ends) markTerminal(file, last, last.partition, [skipped(last.endSeq)]);
  });
  write.immediate();
}

function lastOfEachShard(partitions: readonly RecoveredPartition[]): Iterable<RecoveredPartition> {
  return new Map(partitions.map((each) => [`${each.queueId} ${each.shard}`, each])).values();
}

function replaceDamaged(file: SqliteFile): DamagedPartition[] {
  const { partitions } = recoverPartitions(file);
  const filling = new Set(lastOfEachShard(partitions));
  const replaced: DamagedPartition[] = [];
  for (const partition of partitions) {
    const damaged = checkPartition(file, partition);
    if (damaged === undefined) continue;
    // Read before the transaction: one in which SQLite met damage makes no more tables.
    const { blocks } = readWholeBlocks(file, partition.partition);
    const write = file.transaction(() =>
      replace(file, partition, { blocks, damaged, isFilling: filling.has(partition) }),
    );
    write.immediate();
    replaced.push(damaged);
  }
  return replaced;
}

const skipped = (from: number): SeqRange => [from, from + unknownNumbersMax];

function replace(
  file: SqliteFile,
  old: RecoveredPartition,
  { blocks, damaged, isFilling }: { blocks: StoredBlock[]; damaged: DamagedPartition; isFilling: boolean },
): void {
  const partition = nextNumber(file);
  createPartition(file, partition);
  const writer = new BlockWriter(file);
  const indexes = new CorrelationIndexes(file);
  indexes.assign({ partition, indexed: indexes.has(old.partition) });
  for (const { firstSeq, count, body, groupNo } of blocks) {
    const entry = { partition, firstSeq, count, offset: 0, length: body.byteLength };
    writer.write(entry, groupNo ?? 0, Buffer.from(body));
    indexes.write(entry, Buffer.from(body));
  }
  const row = { partition, queueId: old.queueId, shard: old.shard, firstSeq: old.firstSeq };
  file.prepare('DELETE FROM partition WHERE partition = ?').run(old.partition);
  file
    .prepare('INSERT INTO partition (partition, queue_id, shard, first_seq, crc) VALUES (?, ?, ?, ?, ?)')
    .run(partition, row.queueId, row.shard, row.firstSeq, poolChecksum(row));
  file.prepare('UPDATE attempt SET partition = ? WHERE partition = ?').run(partition, old.partition);
  file.prepare('DELETE FROM consumption WHERE partition = ?').run(old.partition);
  for (const [subscriber, rows] of Map.groupBy(old.terminal, (each) => each.subscriber)) {
    if (subscriber === 0) continue;
    for (const [index, { ranges }] of rows.entries())
      note(file, { partition, subscriber, groupNo: index }, ranges);
  }
  const lastEnd = blocks.reduce((end, { firstSeq, count }) => Math.max(end, firstSeq + count), old.firstSeq);
  const ends = [...terminalOf(old), ...damaged.missing].map(([, end]) => end);
  const beyond = isFilling ? [skipped(Math.max(lastEnd, ...ends))] : [];
  markTerminal(file, old, partition, [...terminalOf(old), ...damaged.missing, ...beyond]);
}

/** Never one that has a table: what lies in that may be damaged. */
function nextNumber(file: SqliteFile): number {
  const tables = file
    .prepare(
      "SELECT max(CAST(substr(name, 11) AS INTEGER)) FROM sqlite_schema WHERE name GLOB 'partition_[0-9]*'",
    )
    .pluck()
    .get() as number | null;
  return (tables ?? 0) + 1;
}

function markTerminal(
  file: SqliteFile,
  { firstSeq }: RecoveredPartition,
  partition: number,
  ranges: readonly SeqRange[],
): void {
  const merged = mergeRanges(ranges);
  if (merged.length === 0) return;
  note(file, { partition, subscriber: 0, groupNo: 0 }, Uint8Array.from(encodeRanges(merged, firstSeq)));
}

function note(
  file: SqliteFile,
  at: { partition: number; subscriber: number; groupNo: number },
  ranges: Uint8Array,
): void {
  file
    .prepare('INSERT INTO consumption (partition, subscriber, group_no, ranges, crc) VALUES (?, ?, ?, ?, ?)')
    .run(at.partition, at.subscriber, at.groupNo, Buffer.from(ranges), deltaChecksum(at, ranges));
}
