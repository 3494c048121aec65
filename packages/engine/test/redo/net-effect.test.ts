/**
 * The net effect of many groups against the same groups one by one, on real files: the tables then have the same partitions, numbers,
 * consumption and live messages, whatever was left out.
 */
import { copyFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  decodeRanges,
  encodeRanges,
  mergeRanges,
  rangesOfSeqs,
  type SeqRange,
} from '../../src/model/consumption.ts';
import type { BlockEntry, PartitionAssignment } from '../../src/model/group-message.ts';
import type { PartitionId, Seq, SubscriberId } from '../../src/model/ids.ts';
import type { TableWrite } from '../../src/model/table-write.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { InstanceFile, instanceFilePath } from '../../src/storage/instance-file/instance-file.ts';
import { NetEffect } from '../../src/storage/instance-file/net-effect.ts';
import { readBlocks } from '../../src/storage/instance-file/tables/read-partition.ts';
import type { LoggedGroup } from '../../src/storage/redo/encode-group.ts';
import { LogReader } from '../../src/storage/redo/log-reader.ts';
import { RedoLog } from '../../src/storage/redo/redo-log.ts';
import { closeSegment, openSegment } from '../../src/storage/redo/segment-files.ts';
import { makeFolder } from '../folder.ts';
import { random } from '../random.ts';

const queueId = 1;
const keepingQueue = 2;
const topicId = 3;

interface ModelPartition {
  id: PartitionId;
  firstSeq: Seq;
  endSeq: Seq;
  /** Not terminal for these subscribers. */
  live: Map<SubscriberId, Set<Seq>>;
}

/** A queue with one log, or a topic with two subscribers, as its groups see it. */
interface ModelLog {
  queueId: number;
  subscribers: SubscriberId[];
  keepsConsumed: boolean;
  nextSeq: Seq;
  partitions: ModelPartition[];
}

/** Groups as an instance would write them, drawn at random. */
class History {
  readonly #next: () => number;
  readonly #logs: ModelLog[] = [
    { queueId, subscribers: [0], keepsConsumed: false, nextSeq: 1, partitions: [] },
    { queueId: keepingQueue, subscribers: [0], keepsConsumed: true, nextSeq: 1, partitions: [] },
    { queueId: topicId, subscribers: [1, 2], keepsConsumed: false, nextSeq: 1, partitions: [] },
  ];
  #free: PartitionId[] = [];
  #created = 0;

  constructor(seed: number) {
    this.#next = random(seed);
  }

  #below(max: number): number {
    return Math.floor(this.#next() * max);
  }

  group(number: number): LoggedGroup {
    const poolChanges: LoggedGroup['poolChanges'] = { create: [], assign: [], truncate: [] };
    const deltas: { partition: PartitionId; subscriber: SubscriberId; ranges: number[] }[] = [];
    const bodies: Buffer[] = [];
    const blocks: BlockEntry[] = [];
    const tableWrites = number === 1 ? this.#subscribe() : [];
    let offset = 0;
    for (const log of this.#logs) {
      this.#truncateDrained(log, poolChanges.truncate);
      if (this.#below(3) > 0)
        for (let more = 1 + this.#below(2); more > 0; more -= 1) {
          const body = Buffer.alloc(40 + this.#below(200), number);
          const block = this.#append(log, poolChanges);
          blocks.push({ ...block, offset, length: body.length, keepsConsumed: log.keepsConsumed });
          bodies.push(body);
          offset += body.length;
        }
      if (this.#below(4) > 0) deltas.push(...this.#consume(log));
    }
    if (this.#below(12) === 0 && this.#logs[2]!.subscribers.length === 2)
      tableWrites.push(this.#unsubscribe());
    const buffer = new SharedArrayBuffer(offset + deltas.reduce((sum, { ranges }) => sum + ranges.length, 0));
    const target = Buffer.from(buffer);
    Buffer.concat(bodies).copy(target);
    const consumptionDeltas = deltas.map(({ ranges, ...key }) => {
      target.set(ranges, offset);
      offset += ranges.length;
      return { ...key, offset: offset - ranges.length, length: ranges.length };
    });
    const outcomes = { offset: 0, length: 0, retiredThroughGroup: 0 };
    return { buffer, blocks, consumptionDeltas, outcomes, tableWrites, poolChanges };
  }

  #append(
    log: ModelLog,
    pool: LoggedGroup['poolChanges'],
  ): Pick<BlockEntry, 'partition' | 'firstSeq' | 'count'> {
    const count = 1 + this.#below(3);
    let last = log.partitions.at(-1);
    if (last === undefined || last.endSeq - last.firstSeq >= 10) {
      const id = this.#free.shift() ?? this.#create(pool.create);
      last = { id, firstSeq: log.nextSeq, endSeq: log.nextSeq, live: new Map() };
      for (const subscriber of log.subscribers) last.live.set(subscriber, new Set());
      log.partitions.push(last);
      const assignment: PartitionAssignment = {
        partition: id,
        queueId: log.queueId,
        shard: 100,
        firstSeq: log.nextSeq,
        hasCorrelationIndex: false,
      };
      pool.assign.push(assignment);
    }
    const firstSeq = log.nextSeq;
    for (let seq = firstSeq; seq < firstSeq + count; seq += 1)
      for (const live of last.live.values()) live.add(seq);
    log.nextSeq += count;
    last.endSeq = log.nextSeq;
    return { partition: last.id, firstSeq, count };
  }

  #create(create: PartitionId[]): PartitionId {
    this.#created += 1;
    create.push(this.#created);
    return this.#created;
  }

  #consume({ partitions, subscribers }: ModelLog) {
    const deltas: { partition: PartitionId; subscriber: SubscriberId; ranges: number[] }[] = [];
    for (const subscriber of subscribers) {
      for (const { id, firstSeq, live } of partitions) {
        const seqs = [...live.get(subscriber)!].filter(() => this.#below(5) > 0);
        if (seqs.length === 0) continue;
        for (const seq of seqs) live.get(subscriber)!.delete(seq);
        deltas.push({ partition: id, subscriber, ranges: encodeRanges(rangesOfSeqs(seqs), firstSeq) });
      }
    }
    return deltas;
  }

  /** Partitions that were drained by earlier groups, all but the last of the log. */
  #truncateDrained(log: ModelLog, truncate: PartitionId[]): void {
    while (
      log.partitions.length > 1 &&
      [...log.partitions[0]!.live.values()].every(({ size }) => size === 0)
    ) {
      const { id } = log.partitions.shift()!;
      truncate.push(id);
      this.#free.push(id);
    }
  }

  #subscribe(): TableWrite[] {
    return [1, 2].map((subscriber) => ({
      kind: 'subscribe',
      subscription: {
        queueId: topicId,
        shard: 100,
        subscriber,
        firstSeq: subscriber === 1 ? 1 : 2 + this.#below(10),
      },
    }));
  }

  #unsubscribe(): TableWrite {
    const topic = this.#logs[2]!;
    const subscriber = topic.subscribers.pop()!;
    for (const { live } of topic.partitions) live.delete(subscriber);
    return { kind: 'unsubscribe', subscriber };
  }
}

/** What a recovery finds: comparable, and without how it is stored. */
function contentOf(dir: string) {
  const path = instanceFilePath(dir, 1);
  const file = new InstanceFile(path, nodePorts.clock);
  const { partitions, freePartitions, unusablePartitions, subscriptions } = file.recover();
  file.close();
  const rows = new Database(path, { readonly: true });
  const found = partitions.map(({ terminalDeltas, attempts: _, bytes: __, ...partition }) => {
    const bySubscriber = Map.groupBy(terminalDeltas, ({ subscriber }) => subscriber);
    const terminal = [...bySubscriber].map(([subscriber, deltas]): [SubscriberId, SeqRange[]] => [
      subscriber,
      mergeRanges(deltas.flatMap(({ ranges }) => decodeRanges(ranges, partition.firstSeq))),
    ]);
    const required = subscriptions.filter(({ queueId }) => queueId === partition.queueId);
    const isTerminal = (seq: Seq) =>
      (required.length === 0 ? [{ subscriber: 0, firstSeq: 1 }] : required).every(
        ({ subscriber, firstSeq }) =>
          seq < firstSeq ||
          terminal.some(
            ([of, ranges]) => of === subscriber && ranges.some(([from, to]) => from <= seq && seq < to),
          ),
      );
    const { blocks } = readBlocks(rows, { partition: partition.partition, fromSeq: 0, bytesMax: 2 ** 30 });
    const kept = blocks.filter(
      ({ firstSeq, count }) =>
        partition.queueId === keepingQueue ||
        Array.from({ length: count }, (_, index) => firstSeq + index).some((seq) => !isTerminal(seq)),
    );
    return { ...partition, terminal: terminal.toSorted(([a], [b]) => a - b), kept };
  });
  const bytesOf = (queueId: number) =>
    partitions
      .filter((partition) => partition.queueId === queueId)
      .map(({ partition }) =>
        rows.prepare(`SELECT coalesce(sum(length(body)), 0) FROM partition_${partition}`).pluck().get(),
      )
      .reduce<number>((sum, bytes) => sum + (bytes as number), 0);
  const bytes = [queueId, topicId].map(bytesOf);
  rows.close();
  return {
    content: {
      partitions: found,
      freePartitions: freePartitions.toSorted((a, b) => a - b),
      unusablePartitions,
    },
    /** Stored of the queue and of the topic. */
    bytes,
  };
}

it('leaves what a recovery finds as it is', () => {
  const leftOut = [0, 0];
  const kept = [0, 0];
  fc.assert(
    fc.property(
      fc.nat(),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 2, max: 15 }),
      (seed, count, step) => {
        const dir = makeFolder();
        const path = instanceFilePath(dir, 1);
        const file = new InstanceFile(path, nodePorts.clock);
        const { redo } = file.recover();
        file.close();
        const segments = redo.segments.map((row) => openSegment(path, row));
        const log = new RedoLog({ logId: redo.logId, segments, lastTurn: redo.turn, end: redo.end });
        const history = new History(seed);
        for (let group = 1; group <= count; group += 1) {
          const content = history.group(group);
          expect(log.append({ group, requiresApplied: 0, isDurable: true, content })).toBe(true);
        }
        log.close();
        const applied = [1, step, count].map((groupsAtOnce) => {
          const copy = makeFolder();
          for (const name of readdirSync(dir))
            if (statSync(join(dir, name)).isFile()) copyFileSync(join(dir, name), join(copy, name));
          const copyPath = instanceFilePath(copy, 1);
          const tables = new InstanceFile(copyPath, nodePorts.clock, { acceptsLoss: true });
          const opened = redo.segments.map((row) => openSegment(copyPath, row));
          const reader = new LogReader(redo.logId, opened, { turn: redo.turn, offset: 0, end: redo.end });
          tables.takeOver(1);
          for (let through = groupsAtOnce; through < count + groupsAtOnce; through += groupsAtOnce)
            tables.applyLog(reader, redo.logId, Math.min(through, count));
          tables.close();
          for (const segment of opened) closeSegment(segment);
          return contentOf(copy);
        });
        const [oneByOne, some, all] = applied;
        expect(some!.content).toEqual(oneByOne!.content);
        expect(all!.content).toEqual(oneByOne!.content);
        for (const of of [0, 1]) {
          leftOut[of]! += oneByOne!.bytes[of]! - all!.bytes[of]!;
          kept[of]! += all!.bytes[of]!;
        }
      },
    ),
    { numRuns: 25 },
  );
  for (const bytes of [...leftOut, ...kept]) expect(bytes).toBeGreaterThan(500);
});

it('keeps the first message of a subscriber that has not consumed it, and leaves those before it out', () => {
  const written: string[] = [];
  const effect = new NetEffect({
    firstSeqOf: () => 10,
    subscriptionsOf: () => [
      { subscriber: 1, firstSeq: 1 },
      { subscriber: 2, firstSeq: 13 },
    ],
    writeBlock: ({ firstSeq, count }, _group, { length }) => written.push(`${firstSeq}+${count}: ${length}`),
    writeConsumption: () => undefined,
  });
  for (const [index, firstSeq] of [10, 12, 13, 14].entries()) {
    const count = firstSeq === 10 ? 2 : 1;
    const block = { partition: 1, firstSeq, count, offset: 0, length: 9, keepsConsumed: false };
    effect.addBlock(block, index + 1, Buffer.alloc(9));
  }
  effect.addConsumption({ partition: 1, subscriber: 1 }, 5, Uint8Array.from(encodeRanges([[10, 15]], 10)));
  effect.addConsumption({ partition: 1, subscriber: 2 }, 5, Uint8Array.from(encodeRanges([[14, 15]], 10)));
  effect.write();
  expect(written).toEqual(['10+3: 0', '13+1: 9', '14+1: 0']);
});
