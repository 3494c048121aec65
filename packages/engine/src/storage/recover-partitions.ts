/**
 * Reads what recovery needs to know of the partitions. A partition that cannot be read, or is not what was written, does
 * not keep the others from being served: it comes back as damaged. What all of them rest on, the pool's own tables, must
 * be whole: `STORAGE_CORRUPT`.
 */
import { decodeRanges, encodeRanges, mergeRanges } from '../core/consumption.ts';
import { QueueError } from '../core/errors.ts';
import { readAttempts } from './attempt-table.ts';
import { deltaChecksum, poolChecksum } from './checksum.ts';
import type { RecoveredInstance, RecoveredPartition } from './group-message.ts';
import { assertEnd, blockRanges, sizeOf } from './partition-table.ts';
import { type SqliteFile, toQueueError } from './sqlite.ts';

/** More than a partition can have given out: its messages and the gaps of failed groups between them. */
export const unknownNumbersMax = 2 ** 32;

export interface PoolRow {
  partition: number;
  /** Nulls: free. */
  queueId: number | null;
  shard: number | null;
  firstSeq: number | null;
}

type OwnedRow = { [Key in keyof PoolRow]: number };

interface ConsumptionRow {
  partition: number;
  subscriber: number;
  groupNo: number;
  ranges: Uint8Array;
  crc: number | null;
}

export function recoverPartitions(
  file: SqliteFile,
): Pick<RecoveredInstance, 'free' | 'unusable' | 'partitions'> {
  const pool = readPool(file);
  const consumption = Map.groupBy(
    file
      .prepare('SELECT partition, subscriber, group_no AS groupNo, ranges, crc FROM consumption')
      .all() as ConsumptionRow[],
    ({ partition }) => partition,
  );
  const found: ReturnType<typeof recoverPartitions> = { free: [], unusable: [], partitions: [] };
  for (const [index, row] of pool.entries()) {
    if (!isOwned(row)) {
      const usable = damageOf(file, () => sizeOf(file, row.partition)) === null;
      (usable ? found.free : found.unusable).push(row.partition);
      continue;
    }
    const next = pool[index + 1];
    const isFilling = next?.queueId !== row.queueId || next.shard !== row.shard;
    const own = consumption.get(row.partition) ?? [];
    found.partitions.push(recoverPartition(file, row, own, isFilling ? null : next.firstSeq));
  }
  return found;
}

function readPool(file: SqliteFile): PoolRow[] {
  const rows = file
    .prepare(
      `SELECT partition, queue_id AS queueId, shard, first_seq AS firstSeq, crc FROM partition
       ORDER BY queue_id, shard, first_seq`,
    )
    .all() as (PoolRow & { crc: number | null })[];
  return rows.map(({ crc, ...row }) => {
    if (crc === null || crc === poolChecksum(row)) return row;
    throw new QueueError('STORAGE_CORRUPT', {
      sentence: `${file.name} does not say whom partition ${row.partition} belongs to`,
      details: { path: file.name, partition: row.partition },
    });
  });
}

function isOwned(row: PoolRow): row is OwnedRow {
  return row.queueId !== null;
}

function recoverPartition(
  file: SqliteFile,
  row: OwnedRow,
  consumption: readonly ConsumptionRow[],
  /** Where the shard's next partition begins; null for the last one, which is filling. */
  nextSeq: number | null,
): RecoveredPartition {
  const terminal = consumption.filter(isWhole);
  const lost = consumption.length - terminal.length;
  const empty = { endSeq: row.firstSeq, bytes: 0, messages: 0, attempts: [] };
  const whole: RecoveredPartition = { ...row, ...empty, terminal, damage: null, unknownFrom: null };
  const damage = damageOf(file, () => {
    Object.assign(whole, sizeOf(file, row.partition), { attempts: readAttempts(file, row.partition) });
    // Numbers of a shard go on where its last block ends: none may come twice.
    if (nextSeq === null) assertEnd(file, row.partition);
    if (lost > 0) throw corrupt(`${lost} notes of what was consumed of it are damaged`);
    assertNoneMissing(file, whole, nextSeq ?? whole.endSeq);
  });
  return damage === null ? whole : damaged(whole, damage, nextSeq);
}

/** Every number is that of a message, or of a failed group, which is noted as terminal. */
function assertNoneMissing(file: SqliteFile, partition: RecoveredPartition, endSeq: number): void {
  const { firstSeq, messages, terminal } = partition;
  if (partition.endSeq > endSeq) throw corrupt('messages of it have numbers of the next one');
  if (messages === endSeq - firstSeq) return;
  const noted = terminal.filter(({ subscriber }) => subscriber === 0);
  const gaps = mergeRanges(noted.flatMap(({ ranges }) => decodeRanges(ranges, firstSeq)));
  const isNoted = (start: number, end: number) => gaps.some(([from, to]) => from <= start && end <= to);
  let at = firstSeq;
  for (const [start, end] of [...blockRanges(file, partition.partition), [endSeq, endSeq] as const]) {
    if (start < at || (start > at && !isNoted(at, start))) throw corrupt(`message ${at} of it is missing`);
    at = end;
  }
}

function corrupt(sentence: string): QueueError {
  return new QueueError('STORAGE_CORRUPT', { sentence });
}

/**
 * All of its numbers that are not known to be terminal count as live, so that none is passed over in silence. Where those
 * of the last partition end is not known, and the shard must go on above them: there one number above those that are
 * known stays live, and the others up to the new end are terminal.
 */
function damaged(partition: RecoveredPartition, damage: string, nextSeq: number | null): RecoveredPartition {
  const { firstSeq, terminal } = partition;
  if (nextSeq !== null) return { ...partition, damage, endSeq: nextSeq, messages: nextSeq - firstSeq };
  const ends = terminal.map(({ ranges }) => decodeRanges(ranges, firstSeq).at(-1)?.[1] ?? firstSeq);
  const unknown = Math.max(partition.endSeq, ...ends);
  const endSeq = unknown + unknownNumbersMax;
  const rest = Uint8Array.from(encodeRanges([[unknown + 1, endSeq]], firstSeq));
  return {
    ...partition,
    damage,
    endSeq,
    unknownFrom: unknown,
    messages: unknown + 1 - firstSeq,
    terminal: [...terminal, { subscriber: 0, ranges: rest }],
  };
}

/** Why the work cannot be done for damage, or null; other errors are none of the partition's. */
function damageOf(file: SqliteFile, work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    const { code, message } = toQueueError(error, file.name);
    if (code !== 'STORAGE_CORRUPT') throw error;
    return message;
  }
}

function isWhole({ partition, subscriber, groupNo, ranges, crc }: ConsumptionRow): boolean {
  if (crc !== null) return crc === deltaChecksum({ partition, subscriber, groupNo }, ranges);
  try {
    decodeRanges(ranges, 0);
    return true;
  } catch {
    return false;
  }
}
