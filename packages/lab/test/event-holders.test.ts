/** The holders that a trial samples: how those of its instances are merged, and that they agree with the time book of a real trial. */
import type { EventHolders } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { holdersIn, type InstanceHolders } from '../src/meters/event-holders.ts';
import { programScenario, runFirstTrial, wholeAndDrained } from './program-runs.ts';

type Series = InstanceHolders['series'][number];
type Sample = Series['samples'][number];

const series = (event: string, samples: Sample[], more: Partial<Series> = {}): Series => ({
  event,
  everyMs: 10,
  samples,
  holds: 3,
  heldMs: 4.5,
  ...more,
});

const sample = (holder: Sample['holder'], waiting: number[]): Sample => ({
  holder,
  waiters: waiting.length,
  waiting,
});

const instanceWith = (instance: number, ...of: Series[]): InstanceHolders => ({
  instance,
  names: { 1: `enqueuer ${instance}.1`, 2: `dequeuer ${instance}.1` },
  series: of,
});

describe('what the processes of a trial sampled', () => {
  it('is merged into one record for what all instances share, moment by moment', () => {
    const { holders } = holdersIn([
      instanceWith(1, series('write lock', [sample(1, [2]), sample(null, [1, 2]), sample(null, [])])),
      instanceWith(2, series('write lock', [sample(null, [1]), sample(2, [1])])),
    ]);
    expect(holders).toEqual<EventHolders[]>([
      {
        event: 'write lock',
        instance: null,
        everyMs: 10,
        sessions: ['enqueuer 1.1', 'dequeuer 1.1', 'enqueuer 2.1', 'dequeuer 2.1'],
        samples: [
          { holder: 0, waiters: 2, waiting: '0110' },
          { holder: 3, waiters: 3, waiting: '1110' },
          { holder: null, waiters: 0, waiting: '0000' },
        ],
        holds: 6,
        heldMs: 9,
      },
    ]);
  });

  it('is a record for each instance for what is its own, without events that nobody waited for', () => {
    const group = 'group 7 of 2 transactions';
    const { holders } = holdersIn([
      instanceWith(
        1,
        series('log file sync', [sample(group, [1, 2])]),
        series('write lock', [sample(null, [])]),
      ),
      instanceWith(2, series('log file sync', [sample(group, [9])])),
      instanceWith(3, series('log file sync', [sample(group, []), sample(null, [1])])),
    ]);
    expect(holders!.map(({ event, instance, sessions }) => [event, instance, sessions])).toEqual([
      ['log file sync', 1, ['enqueuer 1.1', 'dequeuer 1.1']],
      ['log file sync', 2, ['session 2.9']],
    ]);
    expect(holders![0]!.samples).toEqual([{ holder: group, waiters: 2, waiting: '11' }]);
    expect(holdersIn([instanceWith(1)])).toEqual({});
  });

  it('names both holders if two processes report at the same moment that they hold the lock', () => {
    const { holders } = holdersIn([
      instanceWith(1, series('write lock', [sample(1, [2])])),
      instanceWith(2, series('write lock', [sample(2, [])])),
    ]);
    expect(holders![0]!.samples[0]!.holder).toBe('enqueuer 1.1 and dequeuer 2.1');
  });
});

const trialOf = (system: string, instances: number) =>
  runFirstTrial(
    programScenario({
      study: 'white-paper',
      program: 'queue',
      systems: [system],
      parameters: {
        durability: 'durable',
        operationsPerTransaction: 5,
        payloadBytes: 64,
        backlogMax: 500,
        instances,
      },
      sweep: { threads: [6] },
      phases: { warmupMs: 300, measureMs: 2_000, drainMs: 10_000 },
    }),
  );

function meanOf(values: readonly number[]): { mean: number; standardError: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return { mean, standardError: Math.sqrt(variance / values.length) };
}

describe('a trial', () => {
  it.each([1, 2])(
    'of an unsharded queue on %i instances samples who writes and who waits, in agreement with the time book',
    async (instances) => {
      const { figures, holders, waits, integrity, measuredMs } = await trialOf('unsharded', instances);
      expect(integrity).toEqual(wholeAndDrained);
      expect(holders!.map(({ event }) => event)).toEqual(['write lock']);
      const [record] = holders!.filter(({ event }) => event === 'write lock');
      const { samples, sessions, everyMs, holds, heldMs } = record!;
      expect(record!.instance).toBeNull();
      expect(samples).toHaveLength(2_000 / everyMs);
      let ofTwo = 0;
      for (const { holder, waiters, waiting } of samples) {
        expect(waiting).toHaveLength(sessions.length);
        expect(waiting.replaceAll('0', '')).toHaveLength(waiters);
        if (typeof holder === 'number') expect(waiting[holder], sessions[holder]).toBe('0');
        else if (holder?.includes(' and ')) ofTwo += 1;
        else expect([null, 'the instance itself']).toContain(holder);
      }
      // A process records the end of its write when SQLite has returned. If it loses its core before that, the next holder overlaps
      // with it in a sample. More overlaps than that would mean that the lock does not exclude writers.
      expect(ofTwo).toBeLessThanOrEqual(instances === 1 ? 0 : 0.05 * samples.length);
      // Sessions of every instance held the lock.
      const holding = new Set(
        samples.map(({ holder }) => (typeof holder === 'number' ? sessions[holder] : holder)),
      );
      for (let instance = 1; instance <= instances; instance += 1)
        expect([...holding].some((name) => name?.includes(` ${instance}.`))).toBe(true);
      // A single instance never waits for another process; of two instances each waits for the other.
      if (instances === 1) expect(figures.writeLockElsewhere).toBe(0);
      else expect(figures.writeLockElsewhere).toBeGreaterThan(0);
      expect(figures.writeLockElsewhere).toBeLessThan(1);
      // The samples must agree with the time book (the average number of waiting sessions) and with the recorded holds (the share
      // of time in which the lock was held) within four standard errors, which are 13 to 20 % and 0.13 for so many samples. The
      // window of the time book also differs a little, since its timers are delayed by writes; that error is smaller.
      const waiting = meanOf(samples.map(({ waiters }) => waiters));
      const booked = waits.find(({ event }) => event === 'write lock')!.totalMs / measuredMs;
      expect(Math.abs(waiting.mean - booked), `${waiting.mean} sampled, ${booked} booked`).toBeLessThan(
        4 * waiting.standardError,
      );
      const held = meanOf(samples.map(({ holder }) => (holder === null ? 0 : 1)));
      expect(Math.abs(held.mean - heldMs / 2_000), `${held.mean} sampled, ${heldMs} ms`).toBeLessThan(
        4 * held.standardError,
      );
      expect(holds).toBeGreaterThan(samples.length / 10);
    },
  );

  it('of a sharded queue samples the group that commits wait for, in each instance', async () => {
    const { holders } = await trialOf('sharded', 2);
    expect(holders!.map(({ event, instance }) => [event, instance])).toEqual([
      ['log file sync', 1],
      ['log file sync', 2],
    ]);
    for (const { samples } of holders!)
      for (const { holder } of samples)
        if (holder !== null) expect(holder).toMatch(/^group \d+ of \d+ transactions?$/);
  });
});
