/** Outcomes of remote sessions' transactions, below the wire: stored with the commit, kept over a restart, forgotten in time. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import type { QueueKind } from '../../src/index.ts';
import { GroupOutcomes } from '../../src/instance/group-outcomes.ts';
import type { InlineInstance } from '../../src/instance/inline-instance.ts';
import { OutcomeBook, type OutcomeEntry } from '../../src/instance/outcome-book.ts';
import type { StagedTransaction } from '../../src/instance/staged-transaction.ts';
import { type IdRun, idRunsBytes, idsOf, readIdRuns, writeIdRuns } from '../../src/storage/id-runs.ts';
import { type OutcomeRow, readOutcomes, SessionOutcomes } from '../../src/storage/session-outcome.ts';
import { makeFolder, openTestInstance } from '../folder.ts';

const owner = { detach: async () => undefined };

const attach = (book: OutcomeBook, session: Buffer) => book.attach({ session, attachment: 1, owner }).entry;

const open = async (dir: string) => (await openTestInstance({ dir })) as InlineInstance;

describe.each<QueueKind>(['sharded', 'unsharded'])('the outcome of a transaction on a %s queue', (kind) => {
  it('has the ids of what it enqueued, and is known after a restart', async () => {
    const dir = makeFolder();
    const session = randomBytes(16);
    const first = await open(dir);
    await first.createQueue({ name: 'q', kind, shards: 3 });
    const entry = attach(first.recoverOutcomes(), session);
    const work = first.openSession();
    for (const groupKey of ['a', 'b', 'c', 'd', 'a']) work.enqueue('q', { payload: groupKey, groupKey });
    const { ids } = await work.commit({ entry, no: 7 });
    expect(new Set(ids).size).toBe(5);
    expect(idsOf(entry.runs)).toEqual(ids);
    await first.close();

    const second = attach((await open(dir)).recoverOutcomes(), session);
    expect(second.no).toBe(7);
    expect(idsOf(second.runs)).toEqual(ids);
  });

  it('is not stored with a transaction that failed', async () => {
    const dir = makeFolder();
    const instance = await open(dir);
    await instance.createQueue({ name: 'q', kind });
    const entry = attach(instance.recoverOutcomes(), randomBytes(16));
    const work = instance.openSession();
    work.enqueue('q', { payload: 'a' });
    work.acknowledge('q', ['no.such.receipt']);
    await expect(work.commit({ entry, no: 1 })).rejects.toThrow();
    expect(entry.no).toBe(0);
  });
});

describe('the outcomes in an instance’s file', () => {
  const rowsOf = (dir: string) => {
    const file = new Database(join(dir, 'instance-1.db'), { readonly: true });
    try {
      return new SessionOutcomes(file).read();
    } finally {
      file.close();
    }
  };

  it('are a bounded number of rows, which keep those of idle sessions and lose those of closed ones', async () => {
    const dir = makeFolder();
    const instance = await open(dir);
    await instance.createQueue({ name: 'q', shards: 2 });
    const book = instance.recoverOutcomes();
    const [idle, closed, busy] = [randomBytes(16), randomBytes(16), randomBytes(16)];
    const work = instance.openSession();
    const commit = async (entry: OutcomeEntry, no: number) => {
      work.enqueue('q', { payload: 'a', groupKey: String(no) });
      work.enqueue('q', { payload: 'b', groupKey: String(no + 1) });
      return (await work.commit({ entry, no })).ids;
    };
    const idleIds = await commit(attach(book, idle), 1);
    const gone = attach(book, closed);
    await commit(gone, 1);
    book.forget(gone, owner);
    const at = attach(book, busy);
    for (let no = 1; no <= 300; no += 1) await commit(at, no);
    await instance.close();

    const rows = rowsOf(dir);
    expect(rows.length).toBeLessThan(100);
    const sessions = rows.flatMap(({ outcomes }) => outcomes.map(({ session }) => Buffer.from(session)));
    expect(sessions.some((session) => session.equals(closed))).toBe(false);
    expect(sessions.filter((session) => session.equals(idle)).length).toBeGreaterThan(0);
    const again = (await open(dir)).recoverOutcomes();
    expect(again.size).toBe(2);
    const found = attach(again, idle);
    expect([found.no, idsOf(found.runs)]).toEqual([1, idleIds]);
    expect(attach(again, busy).no).toBe(300);
  });

  it('are carried on whatever becomes of the groups that carry them', () => {
    // Each step sends a group of some sessions; up to two are under way, and one that fails fails the one behind it.
    const step = fc.record({
      sessions: fc.uniqueArray(fc.nat(9), { maxLength: 3 }),
      fails: fc.boolean(),
      waits: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 120, maxLength: 400, size: 'max' }), (steps) => {
        const book = new OutcomeBook();
        const entries = Array.from({ length: 10 }, (_, index) => attach(book, Buffer.alloc(16, index + 1)));
        let rows: OutcomeRow[] = [];
        let groupNo = 0;
        let underWay: { group: GroupOutcomes; no: number; buffer: Buffer; retired: number; of: number[] }[] =
          [];
        const settle = (fails: boolean) => {
          if (fails) {
            for (const { group } of underWay) group.failed();
            underWay = [];
            return;
          }
          const { group, no, buffer, retired } = underWay.shift()!;
          if (buffer.length > 0) rows.push({ groupNo: no, outcomes: readOutcomes(buffer) });
          rows = rows.filter((row) => row.groupNo > retired);
          group.applied(no);
        };
        for (const { sessions, fails, waits } of steps) {
          // A session has one transaction under way.
          const of = sessions.filter((session) => !underWay.some((before) => before.of.includes(session)));
          const transactions = of.map((session) => {
            const outcome = { entry: entries[session]!, no: entries[session]!.no + 1, runOfCall: [] };
            return { runs: [], deliveries: [], bytes: 0, sync: 'FULL', outcome } as StagedTransaction;
          });
          const group = new GroupOutcomes(transactions, book);
          const buffer = Buffer.alloc(group.bytes);
          const { length, retired } = group.write(buffer, 0);
          expect(length).toBe(group.bytes);
          groupNo += 1;
          underWay.push({ group, no: groupNo, buffer, retired, of });
          if (underWay.length === 2 || !waits) settle(fails);
        }
        while (underWay.length > 0) settle(false);
        expect(rows.length).toBeLessThan(100);
        const recovered = new OutcomeBook();
        recovered.loadRows(rows);
        for (const entry of entries) expect(attach(recovered, entry.session).no).toBe(entry.no);
      }),
    );
  });
});

describe('runs of ids', () => {
  it('come back from their bytes', () => {
    const run: fc.Arbitrary<IdRun> = fc.record({
      shard: fc.nat(6_400),
      firstSeq: fc.maxSafeNat(),
      count: fc.integer({ min: 1, max: 100_000 }),
    });
    fc.assert(
      fc.property(fc.array(run), (runs) => {
        const bytes = Buffer.alloc(idRunsBytes(runs) + 3);
        const end = writeIdRuns(bytes, 3, runs);
        expect(readIdRuns(bytes, 3, end)).toEqual(runs);
      }),
    );
  });
});

describe('the book of outcomes', () => {
  it('takes the later of two files for true', () => {
    const book = new OutcomeBook();
    const session = randomBytes(16);
    book.loadRows([{ groupNo: 1, outcomes: [{ session, no: 4, runs: [] }] }]);
    book.loadUnsharded([{ session, no: 3, runs: [] }]);
    const entry = attach(book, session);
    expect(entry.no).toBe(4);
    book.forget(entry, owner);
    expect(book.forgottenInUnshardedFile).toEqual([session]);
  });

  it('keeps a lost session as long as its client may come back, an open one for good', () => {
    let now = 0;
    const book = new OutcomeBook(() => now);
    const [open, lost] = [randomBytes(16), randomBytes(16)];
    attach(book, open);
    book.detach(attach(book, lost), owner);
    now = limits.outcomeKeptMs - 1;
    attach(book, randomBytes(16));
    expect(book.size).toBe(3);
    now = limits.outcomeKeptMs * 2;
    attach(book, randomBytes(16));
    expect(book.size).toBe(3);
    expect(() => attach(book, open)).toThrow(expect.objectContaining({ code: 'SESSION_CLOSED' }));
    expect(attach(book, lost).no).toBe(0);
  });

  it('refuses a new session past its bound, and never one that it knows', () => {
    const book = new OutcomeBook();
    const known = randomBytes(16);
    book.loadUnsharded([{ session: known, no: 9, runs: [] }]);
    for (let i = 1; i < limits.outcomesMax; i += 1) {
      const session = Buffer.alloc(16);
      session.writeUInt32LE(i);
      book.loadUnsharded([{ session, no: 1, runs: [] }]);
    }
    const refused = () => attach(book, randomBytes(16));
    expect(refused).toThrow(expect.objectContaining({ code: 'SESSIONS_FULL' }));
    expect(refused).toThrow(expect.objectContaining({ code: 'SESSIONS_FULL' }));
    const entry = attach(book, known);
    expect(entry.no).toBe(9);
    book.forget(entry, owner);
    refused();
  });

  it('keeps an entry that fences an earlier connection, though the session was closed', () => {
    const book = new OutcomeBook();
    const session = randomBytes(16);
    const { entry } = book.attach({ session, attachment: 2, owner });
    book.forget(entry, owner);
    expect(() => attach(book, session)).toThrow(expect.objectContaining({ code: 'SESSION_CLOSED' }));
  });
});
