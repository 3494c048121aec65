import { describe, expect, it } from 'vitest';
import { Consumption } from '../src/model/consumption.ts';
import { InvariantViolation } from '../src/model/invariant.ts';
import { LogPartitions, type LogPartitionsOptions } from '../src/model/partitions.ts';

function threePartitions(options: LogPartitionsOptions = {}): LogPartitions {
  const life = new LogPartitions({ messagesMax: 10, ...options });
  for (const [partition, firstSeq] of [
    [1, 1],
    [2, 11],
    [3, 21],
  ] as const) {
    life.assign(partition, firstSeq);
    life.append(firstSeq + (partition === 3 ? 4 : 10), 100);
  }
  return life;
}

describe('the life of partitions', () => {
  it('starts a new partition only when a run would not fit', () => {
    const life = new LogPartitions({ messagesMax: 10 });
    expect(life.needsNewPartition(1, 10)).toBe(true);
    life.assign(1, 1);
    expect(life.needsNewPartition(50, 10)).toBe(false); // An empty partition takes any run.
    life.append(8, 70);
    expect(life.needsNewPartition(3, 30)).toBe(false);
    expect(life.needsNewPartition(4, 40)).toBe(true);
  });

  it('drains full partitions in order and once each, never the filling one', () => {
    const life = threePartitions();
    expect(life.beginTruncatingDrained(10, 0)).toEqual([]);
    expect(life.beginTruncatingDrained(11, 0).map((partition) => partition.id)).toEqual([1]);
    expect(life.beginTruncatingDrained(11, 0)).toEqual([]);
    expect(life.beginTruncatingDrained(25, 0).map((partition) => partition.id)).toEqual([2]);
    life.remove(1);
    expect(life.all.map((partition) => partition.id)).toEqual([2, 3]);
  });

  it('keeps each drained partition for the retention time after it was found drained', () => {
    const life = threePartitions({ retentionMs: 100 });
    const truncatedAt = (nowMs: number, watermark: number) =>
      life.beginTruncatingDrained(watermark, nowMs).map((partition) => partition.id);
    expect(truncatedAt(1_000, 11)).toEqual([]);
    expect(life.retainedUntilMs).toBe(1_100);
    expect(truncatedAt(1_050, 25)).toEqual([]);
    expect(life.retainedUntilMs).toBe(1_100);
    expect(truncatedAt(1_100, 25)).toEqual([1]);
    expect(life.retainedUntilMs).toBe(1_150);
    life.remove(1);
    expect(truncatedAt(1_149, 25)).toEqual([]);
    expect(truncatedAt(1_150, 25)).toEqual([2]);
    expect(life.retainedUntilMs).toBeUndefined();
  });

  it('finds the partition of a sequence number and its end', () => {
    const life = threePartitions();
    expect(life.partitionOf(10).id).toBe(1);
    expect(life.partitionOf(11).id).toBe(2);
    expect(life.endSeqOf(life.partitionOf(11))).toBe(21);
    expect(life.endSeqOf(life.partitionOf(21))).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('finds one of many in a few steps, and the end of an empty one', () => {
    const life = new LogPartitions({ messagesMax: 10 });
    let read = 0;
    for (let id = 1; id <= 1_000; id += 1) {
      const partition = life.assign(id, id * 10);
      Object.defineProperty(partition, 'firstSeq', {
        get: () => {
          read += 1;
          return id * 10;
        },
      });
      life.append(id * 10 + 10, 1);
    }
    for (const seq of [10, 5_005, 10_009]) {
      read = 0;
      expect(life.endSeqOf(life.partitionOf(seq))).toBeGreaterThan(seq);
      expect(read).toBeLessThan(30);
    }
    const empty = life.assign(1_001, 10_010);
    life.assign(1_002, 10_010);
    expect(life.endSeqOf(empty)).toBe(10_010);
    expect(life.partitionOf(10_010).id).toBe(1_002);
  });

  it('stops the instance if partitions overlap, an append is empty, or no partition contains a sequence number', () => {
    const violations: InvariantViolation[] = [];
    const life = threePartitions({ onInvariantBroken: (violation) => violations.push(violation) });
    expect(() => life.assign(4, 20)).toThrow(InvariantViolation);
    expect(() => life.append(25, 10)).toThrow(InvariantViolation);
    expect(() => life.partitionOf(0)).toThrow(InvariantViolation);
    expect(() => life.all[0]!.apply('append')).toThrow(InvariantViolation);
    expect(violations).toHaveLength(4);
  });

  it('reports how far each partition is filled and drained', () => {
    const life = threePartitions();
    const consumption = new Consumption(1);
    consumption.add(1, 6);
    consumption.add(11, 16);
    expect(life.stats((start, end) => consumption.terminalCountBetween(start, end))).toEqual([
      { partition: 1, state: 'full', fill: 1, drained: 0.5 },
      { partition: 2, state: 'full', fill: 1, drained: 0.5 },
      { partition: 3, state: 'filling', fill: 0.4, drained: 0 },
    ]);
  });
});
