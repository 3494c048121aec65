/** Outcomes of remote sessions' transactions, below the wire: stored with the commit, kept over a restart, forgotten in time. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import type { QueueKind } from '../../src/index.ts';
import type { InlineInstance } from '../../src/instance/inline-instance.ts';
import { OutcomeBook } from '../../src/instance/outcome-book.ts';
import { type IdRun, idRunsBytes, idsOf, readIdRuns, writeIdRuns } from '../../src/storage/id-runs.ts';
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

  it('is gone once its session was closed in order and something else was committed', async () => {
    const dir = makeFolder();
    const session = randomBytes(16);
    const instance = await open(dir);
    await instance.createQueue({ name: 'q', kind });
    const book = instance.recoverOutcomes();
    const work = instance.openSession();
    const entry = attach(book, session);
    work.enqueue('q', { payload: 'a' });
    await work.commit({ entry, no: 1 });
    book.forget(entry, owner);
    work.enqueue('q', { payload: 'b' });
    await work.commit();
    await instance.close();
    const again = (await open(dir)).recoverOutcomes();
    expect(again.size).toBe(0);
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
    book.load([{ session, no: 4, runs: [] }], 'instance');
    book.load([{ session, no: 3, runs: [] }], 'unsharded');
    const entry = attach(book, session);
    expect(entry.no).toBe(4);
    book.forget(entry, owner);
    expect([book.forgottenInInstanceFile, book.forgottenInUnshardedFile]).toEqual([[session], [session]]);
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
    book.load([{ session: known, no: 9, runs: [] }], 'instance');
    for (let i = 1; i < limits.outcomesMax; i += 1) {
      const session = Buffer.alloc(16);
      session.writeUInt32LE(i);
      book.load([{ session, no: 1, runs: [] }], 'instance');
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
