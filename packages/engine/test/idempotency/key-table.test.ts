/** The rows of idempotency keys: which are kept, and how many each write deletes. */
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { IdempotencyKeyRow } from '../../src/model/idempotency-key.ts';
import {
  createKeyWriter,
  readIdempotencyKey,
} from '../../src/storage/instance-file/tables/idempotency-key-table.ts';
import { instanceTables } from '../../src/storage/instance-file/tables/registered-tables.ts';

const day = 24 * 60 * 60_000;

function setUp(retention = { keysMax: 3, retentionMs: day }) {
  const file = new Database(':memory:');
  onTestFinished(() => void file.close());
  file.exec(instanceTables.schemaSql);
  const write = createKeyWriter(file, retention);
  return {
    file,
    put: (key: string, committedAtMs: number) => write(row(key, committedAtMs)),
    stored: () => file.prepare('SELECT key FROM shardlab_idempotency_key ORDER BY number').pluck().all(),
  };
}

const row = (key: string, committedAtMs: number): IdempotencyKeyRow => ({
  key,
  fingerprint: Buffer.alloc(32, key),
  idRuns: Buffer.from('runs'),
  committedAtMs,
});

describe('the table of idempotency keys', () => {
  it('keeps the newest keys, up to the maximum number', () => {
    const { file, put, stored } = setUp();
    for (let index = 0; index < 10; index += 1) put(`key ${index}`, index);
    expect(stored()).toEqual(['key 7', 'key 8', 'key 9']);
    expect(readIdempotencyKey(file, 'key 8')).toEqual(row('key 8', 8));
    expect(readIdempotencyKey(file, 'key 6')).toBeUndefined();
    expect(instanceTables.findFaults(file)).toEqual([]);
  });

  it('deletes expired keys, oldest first, two with each write', () => {
    const { put, stored } = setUp({ keysMax: 100, retentionMs: day });
    for (let index = 0; index < 5; index += 1) put(`old ${index}`, index);
    put('new 0', day);
    expect(stored()).toEqual(['old 1', 'old 2', 'old 3', 'old 4', 'new 0']);
    put('new 1', 2 * day);
    expect(stored()).toEqual(['old 3', 'old 4', 'new 0', 'new 1']);
    put('new 2', 2 * day);
    put('new 3', 2 * day);
    expect(stored()).toEqual(['new 1', 'new 2', 'new 3']);
  });

  it('replaces the row of a key that is used again, which is then the newest', () => {
    const { file, put, stored } = setUp();
    put('a', 1);
    put('b', 2);
    put('a', day + 10);
    expect(stored()).toEqual(['a']);
    expect(readIdempotencyKey(file, 'a')).toEqual(row('a', day + 10));
    expect(instanceTables.findFaults(file)).toEqual([]);
  });

  it('reports a damaged row', () => {
    const { file, put } = setUp();
    put('a', 1);
    file.exec("UPDATE shardlab_idempotency_key SET id_runs = x'00'");
    expect(() => readIdempotencyKey(file, 'a')).toThrow(expect.objectContaining({ code: 'STORAGE_CORRUPT' }));
    expect(instanceTables.findFaults(file)).toHaveLength(1);
  });

  it('finds the newest and the oldest row by the index on numbers, and a key by the primary key', () => {
    const { file } = setUp();
    const plan = (sql: string) =>
      (file.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail);
    expect(plan('SELECT max(number) FROM shardlab_idempotency_key')).toEqual([
      expect.stringContaining(
        'SEARCH shardlab_idempotency_key USING COVERING INDEX shardlab_idempotency_key_number',
      ),
    ]);
    expect(
      plan('SELECT number, committed_at_ms FROM shardlab_idempotency_key ORDER BY number LIMIT 2'),
    ).toEqual([
      'SCAN shardlab_idempotency_key USING INDEX shardlab_idempotency_key_number', // The query has a limit, so the scan ends after two rows.
    ]);
    expect(plan('SELECT * FROM shardlab_idempotency_key WHERE key = 1')).toEqual([
      'SEARCH shardlab_idempotency_key USING PRIMARY KEY (key=?)',
    ]);
  });

  it('never keeps more than the maximum, nor deletes one of the newest keys before it expires', () => {
    const writes = fc.array(
      fc.record({ key: fc.integer({ min: 0, max: 12 }), pauseMs: fc.integer({ min: 0, max: 40 }) }),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(writes, (all) => {
        const { file, put, stored } = setUp({ keysMax: 5, retentionMs: 100 });
        let nowMs = 0;
        let model: { key: string; atMs: number; number: number }[] = [];
        for (const [number, { key, pauseMs }] of all.entries()) {
          nowMs += pauseMs;
          put(String(key), nowMs);
          model = model.filter((each) => each.key !== String(key));
          model.push({ key: String(key), atMs: nowMs, number });
          const kept = model.filter((each) => number - each.number < 5 && nowMs - each.atMs < 100);
          expect(stored()).toEqual(expect.arrayContaining(kept.map((each) => each.key)));
          expect(stored().length).toBeLessThanOrEqual(5);
          model = model.filter((each) => stored().includes(each.key));
        }
        expect(instanceTables.findFaults(file)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});
