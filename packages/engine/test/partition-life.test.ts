import { describe, expect, it } from 'vitest';
import { Consumption } from '../src/core/consumption.ts';
import { PartitionLife } from '../src/core/partition-life.ts';

function threePartitions(): PartitionLife {
  const life = new PartitionLife(10);
  for (const [no, firstSeq] of [
    [1, 1],
    [2, 11],
    [3, 21],
  ] as const) {
    life.assign(no, firstSeq);
    life.append(firstSeq + (no === 3 ? 4 : 10), 100);
  }
  return life;
}

describe('the life of partitions', () => {
  it('rolls when a run would not fit, and only then', () => {
    const life = new PartitionLife(10);
    expect(life.mustRoll(1, 10)).toBe(true);
    life.assign(1, 1);
    expect(life.mustRoll(50, 10)).toBe(false); // an empty one takes any run
    life.append(8, 70);
    expect(life.mustRoll(3, 30)).toBe(false);
    expect(life.mustRoll(4, 40)).toBe(true);
  });

  it('drains in order, never the one that fills, and each once', () => {
    const life = threePartitions();
    expect(life.takeDrained(10)).toEqual([]);
    expect(life.takeDrained(11).map((partition) => partition.no)).toEqual([1]);
    expect(life.takeDrained(11)).toEqual([]);
    expect(life.takeDrained(25).map((partition) => partition.no)).toEqual([2]);
    life.release(1);
    expect(life.all.map((partition) => partition.no)).toEqual([2, 3]);
  });

  it('finds the partition of a number and where it ends', () => {
    const life = threePartitions();
    expect(life.find(10).no).toBe(1);
    expect(life.find(11).no).toBe(2);
    expect(life.rangeEnd(life.find(11))).toBe(21);
    expect(life.rangeEnd(life.find(21))).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => life.find(0)).toThrow(RangeError);
  });

  it('refuses to assign a partition inside another, and to append nothing', () => {
    const life = threePartitions();
    expect(() => life.assign(4, 20)).toThrow(RangeError);
    expect(() => life.append(25, 10)).toThrow(RangeError);
  });

  it('reports fill and drain of each', () => {
    const life = threePartitions();
    const consumption = new Consumption(1);
    consumption.add(1, 6);
    consumption.add(11, 16);
    expect(life.stats((start, end) => consumption.countBetween(start, end))).toEqual([
      { partition: 1, state: 'full', fill: 1, drained: 0.5 },
      { partition: 2, state: 'full', fill: 1, drained: 0.5 },
      { partition: 3, state: 'filling', fill: 0.4, drained: 0 },
    ]);
  });
});
