import type { Tick } from '@shardlab/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFlowMotion } from '../src/charts/flow-motion.ts';
import { flowSpeed, flowWidth, layoutTopology } from '../src/model/topology-layout.ts';
import { topologyTable } from '../src/model/topology-table.ts';
import { svgElement } from './fixtures/svg-page.ts';

const options = { cores: 2, rateMax: 10_000, backlogMax: 20_000 };

function tick(instances: number, partitions: number, system: Tick['system'] = 'sharded'): Tick {
  return {
    atMs: 1_000,
    trial: 0,
    program: 'queue',
    system,
    params: { instances, threads: 4, roundTripMs: 0, payloadBytes: 512, operationsPerTransaction: 10 },
    phase: 'measure',
    instances: Array.from({ length: instances }, (_, index) => ({
      instance: index + 1,
      spanMs: 250,
      enqueuePerSec: 1_000,
      dequeuePerSec: 900,
      cpu: 0.5,
      latencyMs: { p50: 1, p99: 2 },
      waitMsByClass: {},
      shards: [
        {
          shard: 0,
          backlog: 5_000,
          partitions:
            system === 'unsharded'
              ? []
              : Array.from({ length: partitions }, (_, number) => ({
                  partition: number,
                  state: 'full',
                  fill: 0.8,
                  drained: 0.5,
                })),
        },
      ],
    })),
  };
}

const inside = (inner: { x: number; width: number }, outer: { x: number; width: number }) =>
  inner.x >= outer.x - 0.01 && inner.x + inner.width <= outer.x + outer.width + 0.01;

test('cards stay inside the drawing, cells inside their card, at any width', () => {
  const sizes = fc.tuple(
    fc.integer({ min: 240, max: 2_000 }),
    fc.integer({ min: 1, max: 16 }),
    fc.integer({ min: 0, max: 60 }),
  );
  fc.assert(
    fc.property(sizes, ([width, instances, partitions]) => {
      const layout = layoutTopology(tick(instances, partitions), { ...options, width });
      for (const card of layout.cards) {
        expect(inside(card, { x: 0, width })).toBe(true);
        expect(card.y + card.height).toBeLessThanOrEqual(layout.height + 0.01);
        for (const shard of card.shards) {
          for (const cell of shard.cells) expect(inside(cell, card)).toBe(true);
          expect(shard.cells.length + shard.hidden).toBe(partitions);
        }
      }
    }),
  );
});

test('a narrow chart stacks the instances, a wide one shows them side by side', () => {
  const columns = (width: number) =>
    new Set(layoutTopology(tick(4, 2), { ...options, width }).cards.map((card) => card.x)).size;
  expect(columns(340)).toBe(1);
  expect(columns(1_240)).toBe(4);
});

test('a cell is divided into consumed, waiting and free in proportion', () => {
  const [card] = layoutTopology(tick(1, 1), { ...options, width: 400 }).cards;
  const [cell] = card!.shards[0]!.cells;
  expect(cell!.drained).toBeCloseTo(0.4, 9);
  expect(cell!.waiting).toBeCloseTo(0.4, 9);
});

test('an unsharded queue is one table that every instance is linked to', () => {
  const layout = layoutTopology(tick(2, 0, 'unsharded'), { ...options, width: 700 });
  expect(layout.table).toMatchObject({ backlog: 5_000, share: 0.25 });
  expect(layout.table!.links).toHaveLength(2);
  expect(layout.cards.every((card) => card.shards.length === 0)).toBe(true);
});

test('a flow is wider and faster the higher its rate, and does not move at rate 0', () => {
  expect(flowWidth(0, 10_000)).toBe(1);
  expect(flowWidth(10_000, 10_000)).toBeGreaterThan(flowWidth(100, 10_000));
  expect(flowWidth(90_000, 10_000)).toBe(flowWidth(10_000, 10_000));
  expect(flowSpeed(0)).toBe(0);
  expect(flowSpeed(100_000)).toBeGreaterThan(flowSpeed(100));
});

test('the data table has a row for each partition', () => {
  const table = topologyTable(tick(2, 3));
  expect(table.rows).toHaveLength(6);
  expect(table.rows[0]).toEqual([1, 1_000, 900, 0.5, 0, 5_000, 0, 'full', 80, 50]);
  expect(topologyTable(tick(2, 0, 'unsharded')).rows).toHaveLength(2);
});

test('flows move with the clock, pause while the page is hidden, and leave no timer when nothing moves', () => {
  let now = 0;
  let hidden = false;
  const timers = new Set<() => void>();
  const clock = {
    every: (_ms: number, step: () => void) => {
      timers.add(step);
      return () => timers.delete(step);
    },
    now: () => now,
    isPaused: () => hidden,
  };
  const line = svgElement();
  const advance = (ms: number) => {
    now += ms;
    for (const step of timers) step();
  };
  const motion = createFlowMotion(clock, '12 6');
  motion.animate([{ line, speed: 50 }]);
  advance(100);
  expect(line.getAttribute('stroke-dashoffset')).toBe('-5.0');
  hidden = true;
  advance(100);
  expect(line.getAttribute('stroke-dashoffset')).toBe('-5.0');
  hidden = false;
  motion.animate([{ line, speed: 0 }]);
  expect(timers.size).toBe(0);
  motion.animate([{ line, speed: 50 }]);
  motion.stop();
  expect(timers.size).toBe(0);
});
