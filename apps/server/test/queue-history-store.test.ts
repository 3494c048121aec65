/** The history of queues in the server's own file: what a restart finds, and how much is kept. */
import type { HistoryRange, QueueInfo, QueueSample } from '@shardlab/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../src/limits.ts';
import { QueueHistories } from '../src/queues/queue-histories.ts';
import { openLabDatabase } from '../src/store/lab-database.ts';
import { QueueHistoryStore } from '../src/store/queue-history-store.ts';

const names = ['orders', 'mail'] as const;
const ranges = Object.entries(limits.historyRanges) as [HistoryRange, { everyMs: number; kept: number }][];

interface Counters {
  enqueued: number;
  consumed: number;
}

/** Queues, a clock, and a server that can be restarted on the same file. */
class World {
  readonly file = openLabDatabase(':memory:');
  readonly store = new QueueHistoryStore(this.file);
  readonly queues = new Map<string, Counters>();
  readonly faults: unknown[] = [];
  nowMs = Date.UTC(2026, 0, 1);
  isFailing = false;
  isClockSetBack = false;
  histories = this.open();

  open(): QueueHistories {
    return new QueueHistories({
      queues: async () => {
        if (this.isFailing) throw new Error('no instance responds');
        return [...this.queues].map(
          ([name, { enqueued, consumed }]) =>
            ({ name, ready: enqueued - consumed, held: 0, delayed: 0, enqueued, consumed }) as QueueInfo,
        );
      },
      statistics: async () => null,
      now: () => this.nowMs,
      store: this.store,
      onFault: (error) => this.faults.push(error),
    });
  }

  samples(queue: string, range: HistoryRange): QueueSample[] {
    return this.histories.history(queue, range).samples;
  }

  rows(): number {
    return this.file.prepare('SELECT count(*) FROM queue_sample').pluck().get() as number;
  }
}

type Command =
  | { kind: 'read'; afterMs: number; enqueued: number; consumed: number; times: number }
  | { kind: 'restart'; isKilled: boolean; downMs: number }
  | { kind: 'drop' | 'create'; queue: (typeof names)[number] }
  | { kind: 'fail'; forMs: number }
  | { kind: 'set clock'; byMs: number };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      afterMs: fc.integer({ min: 1, max: 9_000 }),
      enqueued: fc.nat({ max: 500 }),
      consumed: fc.nat({ max: 500 }),
      times: fc.integer({ min: 1, max: 120 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('restart' as const),
      isKilled: fc.boolean(),
      downMs: fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 90_000_000 })),
    }),
  },
  fc.record({ kind: fc.constantFrom('drop' as const, 'create' as const), queue: fc.constantFrom(...names) }),
  fc.record({ kind: fc.constant('fail' as const), forMs: fc.integer({ min: 1, max: 60_000 }) }),
  fc.record({
    kind: fc.constant('set clock' as const),
    byMs: fc.oneof(fc.integer({ min: -9_000, max: 0 }), fc.integer({ min: -400_000, max: 0 })),
  }),
);

async function run(world: World, step: Command): Promise<void> {
  switch (step.kind) {
    case 'read':
      for (let time = 0; time < step.times; time += 1) {
        world.nowMs += step.afterMs;
        for (const counters of world.queues.values()) {
          counters.enqueued += step.enqueued;
          counters.consumed = Math.min(counters.enqueued, counters.consumed + step.consumed);
        }
        await world.histories.sample();
      }
      return;
    case 'restart':
      return restart(world, step);
    case 'create':
      if (!world.queues.has(step.queue)) world.queues.set(step.queue, { enqueued: 0, consumed: 0 });
      return;
    case 'drop':
      world.queues.delete(step.queue);
      await world.histories.sample();
      expect(world.samples(step.queue, '24h')).toEqual([]);
      return;
    case 'fail':
      world.isFailing = true;
      world.nowMs += step.forMs;
      await world.histories.sample();
      world.isFailing = false;
      return;
    case 'set clock':
      world.isClockSetBack = true;
      world.nowMs += step.byMs;
      await world.histories.sample();
  }
}

/** Restarts the server and checks that it finds all samples; after a kill those of the last seconds may be missing. */
async function restart(world: World, { isKilled, downMs }: { isKilled: boolean; downMs: number }) {
  const before = new Map(
    names.flatMap((queue) => ranges.map(([range]) => [`${queue} ${range}`, world.samples(queue, range)])),
  );
  const killed = world.histories;
  if (!isKilled) await killed.close();
  world.histories = world.open();
  for (const queue of names) {
    for (const [range] of ranges) {
      const had = before.get(`${queue} ${range}`)!;
      const found = world.samples(queue, range);
      const lost = isKilled ? had.filter(({ atMs }) => !found.some((sample) => sample.atMs === atMs)) : [];
      // If the clock was set back, samples that had expired are in their range again.
      const again =
        world.isClockSetBack && world.queues.has(queue) ? found.length - had.length + lost.length : 0;
      expect(found.slice(Math.max(0, again)), `${queue} ${range}`).toEqual(
        had.slice(0, had.length - lost.length),
      );
      for (const { atMs } of lost) expect(world.nowMs - atMs).toBeLessThan(limits.historySaveMs);
    }
  }
  if (isKilled) await silence(killed);
  world.nowMs += downMs;
}

/** Ends the timer of a killed server without letting it write. */
async function silence(killed: QueueHistories): Promise<void> {
  const save = QueueHistoryStore.prototype.save;
  QueueHistoryStore.prototype.save = () => {};
  await killed.close();
  QueueHistoryStore.prototype.save = save;
}

function checkBounds(world: World): void {
  expect(world.faults).toEqual([]);
  let rowsMax = 0;
  for (const [range, { everyMs, kept }] of ranges) {
    rowsMax += names.length * kept;
    for (const queue of names) {
      const samples = world.samples(queue, range);
      expect(samples.length).toBeLessThanOrEqual(kept);
      for (const [index, { atMs, sinceMs, depth, enqueuePerSec, dequeuePerSec }] of samples.entries()) {
        expect(atMs).toBeGreaterThan(world.nowMs - everyMs * kept);
        expect(atMs - sinceMs).toBeGreaterThanOrEqual(everyMs * 0.9);
        expect(atMs - sinceMs, 'longer times are gaps').toBeLessThanOrEqual(everyMs * 3);
        expect(sinceMs).toBeGreaterThanOrEqual(samples[index - 1]?.atMs ?? 0);
        expect(Math.min(depth, enqueuePerSec, dequeuePerSec)).toBeGreaterThanOrEqual(0);
      }
    }
  }
  expect(world.rows()).toBeLessThanOrEqual(rowsMax);
}

describe('the saved history of queues', () => {
  it('is found again after a restart, within its bounds, after any changes of queues, instances and clocks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 12 }), async (commands) => {
        const world = new World();
        for (const queue of names) world.queues.set(queue, { enqueued: 0, consumed: 0 });
        for (const step of commands) {
          await run(world, step);
          checkBounds(world);
        }
        await world.histories.close();
        world.file.close();
      }),
      { numRuns: 40 },
    );
  });

  it('is written about every ten seconds, with one row for all new samples of a range', async () => {
    const world = new World();
    world.queues.set('orders', { enqueued: 0, consumed: 0 });
    await run(world, { kind: 'read', afterMs: 2_000, enqueued: 1, consumed: 0, times: 2 });
    expect(world.rows()).toBe(1);
    await run(world, { kind: 'read', afterMs: 2_000, enqueued: 1, consumed: 0, times: 4 });
    expect(world.rows()).toBe(1);
    await run(world, { kind: 'read', afterMs: 2_000, enqueued: 1, consumed: 0, times: 1 });
    expect(world.rows()).toBe(2);
    await world.histories.close();
  });

  it('that cannot be written is kept in memory, reported, and written the next time', async () => {
    const world = new World();
    world.queues.set('orders', { enqueued: 0, consumed: 0 });
    world.file.exec('ALTER TABLE queue_sample RENAME TO elsewhere');
    await run(world, { kind: 'read', afterMs: 2_000, enqueued: 1, consumed: 0, times: 3 });
    expect(world.faults).toHaveLength(1);
    world.file.exec('ALTER TABLE elsewhere RENAME TO queue_sample');
    await run(world, { kind: 'read', afterMs: 2_000, enqueued: 1, consumed: 0, times: 5 });
    world.faults.length = 0;
    await restart(world, { isKilled: true, downMs: 0 });
    expect(world.samples('orders', '10m').length).toBeGreaterThanOrEqual(6);
    await world.histories.close();
  });
});
