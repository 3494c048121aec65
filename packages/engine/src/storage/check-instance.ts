/** Looks over an instance's file without changing it: what was acknowledged, and every block and note in it. */
import { existsSync } from 'node:fs';
import { decodeRanges, mergeRanges, type SeqRange } from '../core/consumption.ts';
import { acknowledgedPath, readAcknowledged } from './acknowledged.ts';
import { countDamagedDelayed } from './delayed-table.ts';
import type { RecoveredPartition } from './group-message.ts';
import { findLastGroup, groupInWords } from './last-group.ts';
import { findPayloadFaults } from './payload-table.ts';
import { recoverPartitions } from './recover-partitions.ts';
import { openSqlite, type SqliteFile, toQueueError } from './sqlite.ts';
import { readWholeBlocks } from './whole-blocks.ts';

export interface DamagedPartition {
  partition: number;
  queueId: number;
  shard: number;
  /** In words. */
  damage: string;
  /** Messages that can be read, consumed ones included. */
  readable: number;
  /** Numbers of messages that cannot be read and are not known to be consumed. */
  missing: SeqRange[];
}

export interface InstanceCheck {
  path: string;
  /** Numbers of the last group that was acknowledged as synced, if that is known, and of the last one found. */
  acknowledged: number | null;
  lastGroup: number;
  partitions: number;
  /** Messages in them that are not consumed by all. */
  messages: number;
  damaged: DamagedPartition[];
  /** All that is wrong, in sentences; none: the file is whole. */
  faults: string[];
}

/** Reads the whole file; another process may be writing to it. Throws the storage errors if it cannot be read at all. */
export function checkInstance(path: string): InstanceCheck {
  // Before the file: what was acknowledged at that moment must be in the file later on.
  const acknowledged = readAcknowledged(acknowledgedPath(path)) ?? null;
  const check: InstanceCheck = {
    path,
    acknowledged,
    lastGroup: 0,
    partitions: 0,
    messages: 0,
    damaged: [],
    faults: [],
  };
  if (existsSync(path)) read(path, check);
  else check.faults.push(`${path} is missing`);
  if (acknowledged !== null && check.lastGroup < acknowledged && check.damaged.length === 0) {
    check.faults.push(
      `Group ${groupInWords(acknowledged)} was acknowledged, and the last one found is ${groupInWords(check.lastGroup)}: acknowledged commits are missing`,
    );
  }
  return check;
}

function read(path: string, check: InstanceCheck): void {
  const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
  try {
    file.exec('BEGIN'); // one moment of it
    check.lastGroup = findLastGroup(file).no;
    const { partitions, unusable } = recoverPartitions(file);
    check.partitions = partitions.length;
    for (const partition of partitions) {
      const damaged = checkPartition(file, partition);
      if (damaged === undefined) check.messages += partition.messages - countTerminal(partition);
      else {
        check.damaged.push(damaged);
        check.faults.push(
          `Partition ${damaged.partition} of shard ${damaged.shard} is damaged: ${damaged.damage}; ${damaged.readable} messages can be read`,
        );
      }
    }
    const delayed = countDamagedDelayed(file);
    if (delayed > 0)
      check.faults.push(`${delayed} delayed messages are not what was written, and stay delayed`);
    check.faults.push(...findPayloadFaults(file));
    for (const partition of unusable) check.faults.push(`Partition ${partition}, which is free, is damaged`);
  } catch (error) {
    check.faults.push(toQueueError(error, path).message);
  } finally {
    file.close();
  }
}

/** What is wrong with a partition, if anything is: recovery's own look, and the sum of every block. */
export function checkPartition(
  file: SqliteFile,
  partition: RecoveredPartition,
): DamagedPartition | undefined {
  const { blocks, changed, readable } = readWholeBlocks(file, partition.partition);
  const damage =
    partition.damage ??
    (changed > 0 ? `${changed} blocks of it are not what was written` : null) ??
    (readable ? null : 'a page of it cannot be read');
  if (damage === null) return undefined;
  const covered = blocks.map(({ firstSeq, count }): SeqRange => [firstSeq, firstSeq + count]);
  const end = Math.max(partition.unknownFrom ?? partition.endSeq, ...covered.map(([, to]) => to));
  return {
    partition: partition.partition,
    queueId: partition.queueId,
    shard: partition.shard,
    damage,
    readable: blocks.reduce((sum, { count }) => sum + count, 0),
    missing: gapsOf([...covered, ...terminalOf(partition)], [partition.firstSeq, end]),
  };
}

/** Terminal for everyone, as far as the file says so. */
export function terminalOf({ firstSeq, terminal, unknownFrom }: RecoveredPartition): SeqRange[] {
  const forAll = terminal.filter(({ subscriber }) => subscriber === 0);
  const ranges = mergeRanges(forAll.flatMap(({ ranges: bytes }) => decodeRanges(bytes, firstSeq)));
  return unknownFrom === null ? ranges : ranges.filter(([start]) => start < unknownFrom);
}

function countTerminal(partition: RecoveredPartition): number {
  return terminalOf(partition).reduce((sum, [start, end]) => sum + end - start, 0);
}

function gapsOf(ranges: readonly SeqRange[], [start, end]: SeqRange): SeqRange[] {
  const gaps: SeqRange[] = [];
  let at = start;
  for (const [from, to] of mergeRanges(ranges)) {
    if (from > at && at < end) gaps.push([at, Math.min(from, end)]);
    at = Math.max(at, to);
  }
  if (at < end) gaps.push([at, end]);
  return gaps;
}
