/** Holders and waiters that a trial sampled: their lanes, their description in words, and their table. */
import { describe, expect, test } from 'vitest';
import {
  holderLanes,
  holdersInWords,
  holdersOf,
  holdersTable,
  meanHoldMs,
  momentInWords,
} from '../src/model/event-holders.ts';
import { crowd, group, lock } from './fixtures/holders.ts';
import { point } from './fixtures/points.ts';

describe('holders and waiters of an event', () => {
  test('are a lane for each session, whose samples in a row are one span', () => {
    expect(holderLanes(lock).map(({ label, spans }) => [label, spans])).toEqual([
      [
        'enq. 1.1',
        [
          { from: 40, to: 60, tone: 'waits', name: 'waits: write lock' },
          { from: 0, to: 40, tone: 'holds', name: 'has it' },
        ],
      ],
      [
        'enq. 1.2',
        [
          { from: 0, to: 40, tone: 'waits', name: 'waits: write lock' },
          { from: 40, to: 60, tone: 'holds', name: 'has it' },
        ],
      ],
      [
        'deq. 1.1',
        [
          { from: 0, to: 20, tone: 'waits', name: 'waits: write lock' },
          { from: 40, to: 60, tone: 'waits', name: 'waits: write lock' },
        ],
      ],
    ]);
  });

  test('have one more lane for holders that are not sessions, such as groups', () => {
    const [holder, ...sessions] = holderLanes(group);
    expect(holder).toMatchObject({ label: 'holder' });
    expect(holder!.spans.map(({ name, from, to }) => [name, from, to])).toEqual([
      ['group 8 of 2 transactions', 0, 40],
      ['group 9 of 1 transaction', 40, 60],
    ]);
    expect(sessions).toHaveLength(3);
  });

  test('are at most 16 lanes: those of the most frequent holders, in their order', () => {
    const lanes = holderLanes(crowd(40));
    expect(lanes).toHaveLength(16);
    for (const { spans } of lanes) expect(spans.some(({ tone }) => tone === 'holds')).toBe(true);
  });

  test('are described in words, as a whole and at a moment', () => {
    expect(holdersInWords(lock)).toBe(
      'In 75 % of 4 samples a holder was seen. A median of 2 sessions waited, at most 2. It was held 40 times, for 1.5\u202fms on average.',
    );
    expect(momentInWords(lock, 5)).toBe('At the start of the window: enqueuer 1.1 has it, 2 wait.');
    expect(momentInWords(lock, 30)).toBe(
      '30\u202fms after the start of the window: enqueuer 1.1 has it, 1 waits.',
    );
    expect(momentInWords(lock, 80)).toBe('80\u202fms after the start of the window: it is free, 0 wait.');
    expect(momentInWords(group, 45)).toContain('group 9 of 1 transaction has it, 1 waits.');
    expect(holdersInWords({ ...lock, holds: 0, heldMs: 0 })).toMatch(/at most 2\.$/);
    expect(meanHoldMs({ ...lock, holds: 0, heldMs: 0 })).toBeNull();
  });

  test('are a table with a row for each sample', () => {
    const { columns, rows } = holdersTable(lock);
    expect(columns).toEqual(['Time (ms)', 'Holder', 'Waiters', 'Who waits']);
    expect(rows[0]).toEqual([0, 'enqueuer 1.1', 2, 'enqueuer 1.2, dequeuer 1.1']);
    expect(rows[3]).toEqual([60, null, 0, '']);
  });

  test('of a point are its records of the event; a point from before they were recorded has none', () => {
    expect(holdersOf({ ...point(), holders: [lock, group] }, 'log file sync')).toEqual([group]);
    expect(holdersOf(point(), 'write lock')).toEqual([]);
  });
});
