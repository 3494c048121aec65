/** Counts messages from the tables of an instance's file alone: blocks, consumed ranges and evacuated messages. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { decodeRanges } from '../../src/model/consumption.ts';

interface PartitionRow {
  partition: number;
  queueId: number;
  shard: number;
  firstSeq: number;
}

export interface CountedPartition extends PartitionRow {
  /** Sequence numbers of its messages. */
  seqs: Set<number>;
  bytes: number;
}

export interface CountedTables {
  free: number;
  partitions: CountedPartition[];
  /** How many messages of a shard a subscriber has not consumed; subscriber 0 is the consumer of a queue. */
  depth(queueId: number, shard: number, subscriber: number): number;
  /** How many messages of a partition the subscriber with the fewest has consumed; subscriber 0 is the consumer of a queue. */
  terminal(partition: number, subscribers: readonly number[]): number;
}

export function countTables(dir: string): CountedTables {
  const db = new Database(join(dir, 'instance-1.db'), { readonly: true });
  try {
    const rows = db
      .prepare('SELECT partition, queue_id AS queueId, shard, first_seq AS firstSeq FROM partition')
      .all() as PartitionRow[];
    const partitions = rows
      .filter(({ queueId }) => queueId !== null)
      .map((row): CountedPartition => {
        const blocks = db
          .prepare(`SELECT seq, count, length(body) AS bytes FROM partition_${row.partition}`)
          .all() as { seq: number; count: number; bytes: number }[];
        const seqs = blocks.flatMap(({ seq, count }) =>
          Array.from({ length: count }, (_, index) => seq + index),
        );
        return { ...row, seqs: new Set(seqs), bytes: blocks.reduce((sum, block) => sum + block.bytes, 0) };
      });
    const consumption = db.prepare('SELECT partition, subscriber, ranges FROM consumption').all() as {
      partition: number;
      subscriber: number;
      ranges: Buffer;
    }[];
    const firstSeqs = db
      .prepare('SELECT queue_id, shard, subscriber, first_seq FROM subscription')
      .raw()
      .all();
    const evacuated = db.prepare('SELECT queue_id, shard, subscriber FROM evacuated').raw().all();
    const count = (of: unknown[], key: readonly number[]) =>
      (of as number[][]).filter((row) => key.every((each, index) => row[index] === each)).length;

    const isTerminal = ({ partition, firstSeq, queueId, shard }: PartitionRow, subscriber: number) => {
      const done = new Set<number>();
      for (const row of consumption) {
        if (row.partition !== partition || ![0, subscriber].includes(row.subscriber)) continue;
        for (const [from, to] of decodeRanges(row.ranges, firstSeq))
          for (let seq = from; seq < to; seq += 1) done.add(seq);
      }
      const own = (firstSeqs as number[][]).find(
        (row) => row[0] === queueId && row[1] === shard && row[2] === subscriber,
      );
      const start = own?.[3] ?? 0;
      return (seq: number) => seq < start || done.has(seq);
    };
    return {
      free: rows.length - partitions.length,
      partitions,
      depth: (queueId, shard, subscriber) => {
        let live = count(evacuated, [queueId, shard, subscriber]);
        for (const partition of partitions) {
          if (partition.queueId !== queueId || partition.shard !== shard) continue;
          const terminal = isTerminal(partition, subscriber);
          for (const seq of partition.seqs) if (!terminal(seq)) live += 1;
        }
        return live;
      },
      terminal: (partitionId, subscribers) => {
        const partition = partitions.find((each) => each.partition === partitionId)!;
        const checks = subscribers.map((subscriber) => isTerminal(partition, subscriber));
        let fewest = partition.seqs.size;
        for (const check of checks) fewest = Math.min(fewest, [...partition.seqs].filter(check).length);
        return fewest;
      },
    };
  } finally {
    db.close();
  }
}
