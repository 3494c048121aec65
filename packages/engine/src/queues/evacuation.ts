/**
 * Finds partitions that are kept for a few live messages only, and moves these to a table, so that the partition can be
 * truncated. Decided when a log is assigned another partition: what is live in an old one by then was delivered long ago,
 * and is held or was returned.
 */

import { limits } from '../api/limits.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { rangesOfSeqs, type SeqRange } from '../model/consumption.ts';
import type { EvacuatedRow } from '../model/evacuated-message.ts';
import type { Seq } from '../model/ids.ts';
import { ignoreViolation } from '../model/invariant.ts';
import type { Partition } from '../model/partitions.ts';
import type { TableWrite } from '../model/table-write.ts';

export class Evacuation {
  readonly #groupCommit: GroupCommit;
  readonly #evacuating = new Set<MessageLog>();

  constructor(groupCommit: GroupCommit) {
    this.#groupCommit = groupCommit;
  }

  /** Moves the live messages of the log's oldest partition if they are few. */
  evacuateOldest(log: MessageLog): void {
    const [oldest] = log.partitions.all;
    if (oldest === undefined || !log.partitions.hasOld || this.#evacuating.has(log)) return;
    if (!log.persistent || liveSeqsOf(log, oldest) === undefined) return;
    this.#evacuating.add(log);
    const moved = new Map<SubscriberCursor, SeqRange[]>();
    const write = this.#groupCommit.write({
      sync: 'FULL',
      exclusive: true,
      background: true,
      terminalRanges: moved,
      onClose: () => evacuationWrites(log, oldest, moved),
      onDurable: () => {
        for (const [cursor, ranges] of moved) cursor.markEvacuated(ranges);
      },
    });
    write
      .then(
        () => {
          this.#evacuating.delete(log);
          this.#groupCommit.truncateDrained(log);
          this.#groupCommit.schedule();
          if (moved.size > 0) this.evacuateOldest(log);
        },
        () => this.#evacuating.delete(log), // considered again with the next partition
      )
      .catch(ignoreViolation);
  }
}

/** The live messages of each cursor; undefined if there are too many, or some were never delivered. */
function liveSeqsOf(log: MessageLog, partition: Partition): Map<SubscriberCursor, Seq[]> | undefined {
  if (partition.truncating || log.dropped) return undefined;
  const endSeq = log.partitions.endSeqOf(partition);
  const bytesEach = partition.bytes / Math.max(1, partition.endSeq - partition.firstSeq);
  const live = new Map<SubscriberCursor, Seq[]>();
  let count = 0;
  for (const cursor of log.cursors) {
    if (cursor.position < endSeq) return undefined;
    const countMax = limits.evacuatedPerPartitionMax - count;
    const seqs = cursor.consumption.liveBetween(partition.firstSeq, endSeq, countMax);
    if (seqs === undefined || !cursor.canEvacuate(seqs.length)) return undefined;
    count += seqs.length;
    if (seqs.length > 0) live.set(cursor, seqs);
  }
  return count > 0 && count * bytesEach <= limits.evacuatedPerPartitionBytesMax ? live : undefined;
}

/** Decides again which messages move, since the group closes later; adds them to `moved`. */
function evacuationWrites(
  log: MessageLog,
  partition: Partition,
  moved: Map<SubscriberCursor, SeqRange[]>,
): TableWrite[] {
  const { queueId, id: shard } = log;
  const rows: Omit<EvacuatedRow, 'record'>[] = [];
  for (const [cursor, seqs] of liveSeqsOf(log, partition) ?? []) {
    moved.set(cursor, rangesOfSeqs([...seqs]));
    if (!cursor.durable) continue; // the state of a nondurable subscriber is in memory only
    const { subscriber } = cursor;
    for (const seq of seqs)
      rows.push({ queueId, shard, subscriber, seq, attempts: cursor.statusOf(seq).deliveryCount });
  }
  return rows.length === 0 ? [] : [{ kind: 'evacuate', partition: partition.id, rows }];
}
