/** Outcomes of remote sessions' transactions, without a connection: stored with the commit, kept over a restart, deleted after a time. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { CommitOutcomes, type OutcomeEntry } from '../../src/commit/commit-outcomes.ts';
import { GroupOutcomes } from '../../src/commit/group-outcomes.ts';
import { newStagedTransaction } from '../../src/commit/staged-transaction.ts';
import { QueueError, type QueueKind } from '../../src/index.ts';
import { type IdRun, idRunsBytes, messageIdsOf, readIdRuns, writeIdRuns } from '../../src/model/id-runs.ts';
import { decodeOutcomes, type GroupOutcomeRow } from '../../src/model/session-outcome.ts';
import { nodePorts } from '../../src/node-ports.ts';
import type { LocalInstance } from '../../src/runtime/local-instance.ts';
import { ServerSession } from '../../src/server/server-session.ts';
import { readSessionOutcomes } from '../../src/storage/instance-file/tables/session-outcome-table.ts';
import { makeFolder, openTestInstance } from '../folder.ts';

const owner = { detach: async () => undefined };

const attach = (outcomes: CommitOutcomes, session: Buffer) =>
  outcomes.attach({ session, attachment: 1, owner }).entry;

const open = async (dir: string) => (await openTestInstance({ dir })) as LocalInstance;

describe.each<QueueKind>(['sharded', 'unsharded', 'unsharded-grouped'])(
  'the outcome of a transaction on a %s queue',
  (kind) => {
    it('has the ids of the enqueued messages, and is known after a restart', async () => {
      const dir = makeFolder();
      const session = randomBytes(16);
      const first = await open(dir);
      await first.createQueue({ name: 'q', kind, shards: 3 });
      const entry = attach(first.recoverOutcomes(), session);
      const work = first.openSession();
      for (const groupKey of ['a', 'b', 'c', 'd', 'a']) work.enqueue('q', { payload: groupKey, groupKey });
      const { ids } = await work.commit(undefined, { entry, transactionNumber: 7 });
      expect(new Set(ids).size).toBe(5);
      expect(messageIdsOf(entry.idRuns)).toEqual(ids);
      await first.close();

      const second = attach((await open(dir)).recoverOutcomes(), session);
      expect(second.transactionNumber).toBe(7);
      expect(messageIdsOf(second.idRuns)).toEqual(ids);
    });

    it('is not stored with a transaction that failed', async () => {
      const dir = makeFolder();
      const instance = await open(dir);
      await instance.createQueue({ name: 'q', kind });
      const entry = attach(instance.recoverOutcomes(), randomBytes(16));
      const work = instance.openSession();
      work.enqueue('q', { payload: 'a' });
      work.acknowledge('q', ['transactionNumber.such.receipt']);
      await expect(work.commit(undefined, { entry, transactionNumber: 1 })).rejects.toThrow();
      expect(entry.transactionNumber).toBe(0);
    });
  },
);

describe('the outcomes in an instance’s file', () => {
  const rowsOf = (dir: string) => {
    const file = new Database(join(dir, 'instance-1.db'), { readonly: true });
    try {
      return readSessionOutcomes(file);
    } finally {
      file.close();
    }
  };

  it('take a bounded number of rows, are kept for idle sessions and deleted for closed ones', async () => {
    const dir = makeFolder();
    const instance = await open(dir);
    await instance.createQueue({ name: 'q', shards: 2 });
    const outcomes = instance.recoverOutcomes();
    const [idle, closed, busy] = [randomBytes(16), randomBytes(16), randomBytes(16)];
    const work = instance.openSession();
    const commit = async (entry: OutcomeEntry, transactionNumber: number) => {
      work.enqueue('q', { payload: 'a', groupKey: String(transactionNumber) });
      work.enqueue('q', { payload: 'b', groupKey: String(transactionNumber + 1) });
      return (await work.commit(undefined, { entry, transactionNumber })).ids;
    };
    const idleIds = await commit(attach(outcomes, idle), 1);
    const closedEntry = attach(outcomes, closed);
    await commit(closedEntry, 1);
    outcomes.forget(closedEntry, owner);
    const at = attach(outcomes, busy);
    for (let transactionNumber = 1; transactionNumber <= 300; transactionNumber += 1)
      await commit(at, transactionNumber);
    await instance.close();

    const rows = rowsOf(dir);
    expect(rows.length).toBeLessThan(100);
    const sessions = rows.flatMap(({ outcomes }) => outcomes.map(({ sessionId }) => Buffer.from(sessionId)));
    expect(sessions.some((session) => session.equals(closed))).toBe(false);
    expect(sessions.filter((session) => session.equals(idle)).length).toBeGreaterThan(0);
    const again = (await open(dir)).recoverOutcomes();
    expect(again.size).toBe(2);
    const found = attach(again, idle);
    expect([found.transactionNumber, messageIdsOf(found.idRuns)]).toEqual([1, idleIds]);
    expect(attach(again, busy).transactionNumber).toBe(300);
  });

  it('are stored whichever of the groups that write them fail', () => {
    // Each step sends a group of some sessions. Up to two groups are in flight, and a failed one fails the one behind it.
    const step = fc.record({
      sessions: fc.uniqueArray(fc.nat(9), { maxLength: 3 }),
      fails: fc.boolean(),
      waits: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 120, maxLength: 400, size: 'max' }), (steps) => {
        const outcomes = new CommitOutcomes(nodePorts.clock);
        const entries = Array.from({ length: 10 }, (_, index) =>
          attach(outcomes, Buffer.alloc(16, index + 1)),
        );
        let rows: GroupOutcomeRow[] = [];
        let groupNumber = 0;
        let underWay: {
          group: GroupOutcomes;
          groupNumber: number;
          buffer: Buffer;
          retired: number;
          of: number[];
        }[] = [];
        const settle = (fails: boolean) => {
          if (fails) {
            for (const { group } of underWay) group.onFailed();
            underWay = [];
            return;
          }
          const { group, groupNumber, buffer, retired } = underWay.shift()!;
          if (buffer.length > 0) rows.push({ groupNumber, outcomes: decodeOutcomes(buffer) });
          rows = rows.filter((row) => row.groupNumber > retired);
          group.onDurable(groupNumber);
        };
        for (const { sessions, fails, waits } of steps) {
          // A session has at most one transaction under way.
          const of = sessions.filter((session) => !underWay.some((before) => before.of.includes(session)));
          const transactions = of.map((session) => {
            const outcome = {
              entry: entries[session]!,
              transactionNumber: entries[session]!.transactionNumber + 1,
              runOfCall: [],
            };
            return { ...newStagedTransaction(), outcome };
          });
          const group = new GroupOutcomes(transactions, outcomes);
          const buffer = Buffer.alloc(group.bytes);
          const { length, retiredThroughGroup } = group.write(buffer, 0);
          expect(length).toBe(group.bytes);
          groupNumber += 1;
          underWay.push({ group, groupNumber, buffer, retired: retiredThroughGroup, of });
          if (underWay.length === 2 || !waits) settle(fails);
        }
        while (underWay.length > 0) settle(false);
        expect(rows.length).toBeLessThan(100);
        const recovered = new CommitOutcomes(nodePorts.clock);
        recovered.loadRows(rows);
        for (const entry of entries)
          expect(attach(recovered, entry.sessionId).transactionNumber).toBe(entry.transactionNumber);
      }),
    );
  });
});

describe('runs of ids', () => {
  it('decode to the encoded runs', () => {
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

describe('commit outcomes of remote sessions', () => {
  it('takes the later outcome if two files have one', () => {
    const outcomes = new CommitOutcomes(nodePorts.clock);
    const session = randomBytes(16);
    outcomes.loadRows([
      { groupNumber: 1, outcomes: [{ sessionId: session, transactionNumber: 4, enqueuedIdRuns: [] }] },
    ]);
    outcomes.loadUnsharded([{ sessionId: session, transactionNumber: 3, enqueuedIdRuns: [] }]);
    const entry = attach(outcomes, session);
    expect(entry.transactionNumber).toBe(4);
    outcomes.forget(entry, owner);
    expect(outcomes.sessionsToForgetInUnshardedFile).toEqual([session]);
  });

  it('keeps the session of a lost connection while its client may return, and an open session for good', () => {
    let now = 0;
    const outcomes = new CommitOutcomes({ monotonicMs: () => now, epochMs: () => now });
    const [open, lost] = [randomBytes(16), randomBytes(16)];
    attach(outcomes, open);
    outcomes.detach(attach(outcomes, lost), owner);
    now = limits.outcomeRetentionMs - 1;
    attach(outcomes, randomBytes(16));
    expect(outcomes.size).toBe(3);
    now = limits.outcomeRetentionMs * 2;
    attach(outcomes, randomBytes(16));
    expect(outcomes.size).toBe(3);
    expect(() => attach(outcomes, open)).toThrow(expect.objectContaining({ code: 'SESSION_CLOSED' }));
    expect(attach(outcomes, lost).transactionNumber).toBe(0);
  });

  it('is at hand over the next connection even if the rollback on the earlier one failed', async () => {
    const instance = await open(makeFolder());
    const session = randomBytes(16);
    const earlier = { detach: () => Promise.reject(new QueueError('STORAGE_FULL')) };
    instance.recoverOutcomes().attach({ session, attachment: 1, owner: earlier });
    const next = new ServerSession(instance, { session, attachment: 2 }, nodePorts);
    await next.previousEnded;
    expect(await next.outcome(1)).toBeUndefined();
    await next.close();
  });

  it('refuses a new session past its bound, and never a known one', () => {
    const outcomes = new CommitOutcomes(nodePorts.clock);
    const known = randomBytes(16);
    outcomes.loadUnsharded([{ sessionId: known, transactionNumber: 9, enqueuedIdRuns: [] }]);
    for (let i = 1; i < limits.outcomesMax; i += 1) {
      const session = Buffer.alloc(16);
      session.writeUInt32LE(i);
      outcomes.loadUnsharded([{ sessionId: session, transactionNumber: 1, enqueuedIdRuns: [] }]);
    }
    const refused = () => attach(outcomes, randomBytes(16));
    expect(refused).toThrow(expect.objectContaining({ code: 'SESSIONS_FULL' }));
    expect(refused).toThrow(expect.objectContaining({ code: 'SESSIONS_FULL' }));
    const entry = attach(outcomes, known);
    expect(entry.transactionNumber).toBe(9);
    outcomes.forget(entry, owner);
    refused();
  });

  it('keeps nothing of a connection that it refuses', () => {
    const outcomes = new CommitOutcomes(nodePorts.clock);
    const attaching = () => outcomes.attach({ session: randomBytes(16), attachment: 0, owner });
    expect(attaching).toThrow(expect.objectContaining({ code: 'SESSION_CLOSED' }));
    expect(outcomes.size).toBe(0);
  });

  it('keeps an entry that fences an earlier connection, even after the session was closed', () => {
    const outcomes = new CommitOutcomes(nodePorts.clock);
    const session = randomBytes(16);
    const { entry } = outcomes.attach({ session, attachment: 2, owner });
    outcomes.forget(entry, owner);
    expect(() => attach(outcomes, session)).toThrow(expect.objectContaining({ code: 'SESSION_CLOSED' }));
  });
});
