/** Group commit with a writer that answers when and how the test says: what a failed group leaves behind. */
import { describe, expect, it } from 'vitest';
import { decodeRanges } from '../src/core/consumption.ts';
import { QueueError } from '../src/core/errors.ts';
import { limits } from '../src/core/limits.ts';
import { WaitRecorder } from '../src/core/waits.ts';
import { GroupCommit } from '../src/instance/group-commit.ts';
import type { Delivery } from '../src/instance/hand-out.ts';
import { MessageCache } from '../src/instance/message-cache.ts';
import { OutcomeBook } from '../src/instance/outcome-book.ts';
import { PartitionPool } from '../src/instance/partition-pool.ts';
import { Shard } from '../src/instance/shard.ts';
import type { StagedTransaction } from '../src/instance/staged-transaction.ts';
import { WriterHold } from '../src/instance/writer-hold.ts';
import type { Group, StorageFailure } from '../src/storage/group-message.ts';
import { readRecord, recordBytes, writeRecord } from '../src/storage/message-record.ts';

const full: StorageFailure = { code: 'STORAGE_FULL', message: 'The disk is full', details: {}, fatal: false };
const damaged: StorageFailure = { code: 'STORAGE_CORRUPT', message: 'Damaged', details: {}, fatal: true };

function setUp() {
  const sent: Group[] = [];
  let fatal: QueueError | undefined;
  let released = 0;
  const shard = new Shard(
    {
      queueId: 1,
      no: 100,
      persistent: true,
      firstSeq: 1,
      endSeq: 1,
      partitionMessagesMax: 100,
      indexed: false,
    },
    new MessageCache(1_000_000).share(),
  );
  const reader = shard.addReader({ subscriber: 0, name: undefined, durable: true, firstSeq: 1 });
  const pool = new PartitionPool([], []);
  const group = new GroupCommit({
    firstGroupNo: 0,
    pool,
    book: new OutcomeBook(),
    waits: new WaitRecorder(),
    send: (each) => sent.push(each),
    release: () => {
      released += 1;
    },
    onVisible: () => undefined,
    onConsumed: () => undefined,
    onRolled: () => undefined,
    onFatal: (error) => {
      fatal = error;
    },
  });
  const answer = (index: number, failure: StorageFailure | null) => {
    const { no, generation } = sent[index]!;
    group.onResult({
      kind: 'group',
      no,
      generation,
      failure,
      unusable: [],
      sql: [],
      maintenanceMs: 0,
      commitMs: 0,
      cpuUs: 0,
    });
  };
  const stage = (...payloads: string[]): StagedTransaction => {
    const segments = payloads.map((payload) => {
      const buffer = Buffer.alloc(recordBytes({ payload }));
      const end = writeRecord(buffer, 0, { payload }, { enqueuedAtMs: 0 });
      return { firstSeq: 0, count: 1, buffer, start: 0, end, readBack: false, kept: 0 };
    });
    return {
      runs: [{ shard, segments, count: payloads.length, firstSeq: 0 }],
      deliveries: [],
      bytes: 100,
      sync: 'FULL',
    };
  };
  const take = (max: number) => {
    const out: Delivery[] = [];
    reader.take({ max, nextHoldNo: () => 1, out });
    return out;
  };
  const hold = new WriterHold({
    execute: () => Promise.reject(new Error('no statement')),
    release: (ended) => group.release(ended),
  });
  return {
    sent,
    shard,
    pool,
    group,
    answer,
    stage,
    take,
    hold,
    fatal: () => fatal,
    released: () => released,
  };
}

/** Groups close at the end of a turn of the event loop. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('group commit', () => {
  it('puts all that commits in one turn into one group, visible only once it is durable', async () => {
    const { sent, shard, group, answer, stage, take } = setUp();
    const commits = [group.submit(stage('a', 'b')), group.submit(stage('c'))];
    await turn();
    expect(sent).toHaveLength(1);
    expect(sent[0]!.blocks).toEqual([expect.objectContaining({ firstSeq: 1, count: 3 })]);
    expect(shard.backlog).toBe(0);
    answer(0, null);
    await Promise.all(commits);
    expect(take(9).map(({ run, start }) => readRecord(run.buffer, start).payload.toString())).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('keeps at most two groups under way', async () => {
    const { sent, group, answer, stage } = setUp();
    for (const payload of ['a', 'b', 'c']) {
      void group.submit(stage(payload));
      await turn();
    }
    expect(sent).toHaveLength(2);
    answer(0, null);
    await turn();
    expect(sent).toHaveLength(3);
  });

  it('while the writer has work, waits for all that the last group woke, in however many turns', async () => {
    const { sent, shard, group, answer, stage } = setUp();
    const sessions = limits.wakeOperationsMax * 2 + 1;
    const again: Promise<void>[] = [];
    const session = async () => {
      await group.submit(stage('first'));
      again.push(group.submit(stage('next')));
    };
    const working = Promise.all(Array.from({ length: sessions }, session));
    await turn();
    void group.submit(stage('behind them'));
    await turn();
    answer(0, null);
    await working;
    await turn();
    expect(sent.map(({ blocks }) => blocks.reduce((sum, { count }) => sum + count, 0))).toEqual([
      sessions,
      1,
      sessions,
    ]);
    answer(1, null);
    answer(2, null);
    await Promise.all(again);
    expect(shard.backlog).toBe(2 * sessions + 1);
  });

  it('an idle writer does not wait for them', async () => {
    const { sent, group, answer, stage } = setUp();
    const sessions = limits.wakeOperationsMax * 3;
    const session = async () => {
      await group.submit(stage('first'));
      void group.submit(stage('next'));
    };
    const working = Promise.all(Array.from({ length: sessions }, session));
    await turn();
    answer(0, null);
    await working;
    await turn();
    expect(sent.map(({ blocks }) => blocks.reduce((sum, { count }) => sum + count, 0))).toEqual([
      sessions,
      limits.wakeOperationsMax * 2,
      limits.wakeOperationsMax,
    ]);
  });

  it('fails the groups behind a failed one, keeps their numbers as gaps, and goes on', async () => {
    const { sent, shard, group, answer, stage, take } = setUp();
    const first = group.submit(stage('a'));
    await turn();
    answer(0, null);
    await first;
    const second = expect(group.submit(stage('b', 'c'))).rejects.toThrow(
      expect.objectContaining({ code: 'STORAGE_FULL' }),
    );
    await turn();
    const third = expect(group.submit(stage('d'))).rejects.toThrow(
      expect.objectContaining({ code: 'STORAGE_FULL' }),
    );
    await turn();
    expect(sent.map((each) => each.generation)).toEqual([0, 0, 0]);
    answer(1, full);
    answer(2, full);
    await Promise.all([second, third]);
    expect(shard.backlog).toBe(1);
    await turn();
    expect(sent).toHaveLength(3); // nothing is tried again by itself

    const fourth = group.submit(stage('e'));
    await turn();
    const retry = sent[3]!;
    expect(retry.generation).toBe(1);
    expect(retry.blocks).toEqual([expect.objectContaining({ firstSeq: 5, count: 1 })]);
    const gap = retry.deltas[0]!;
    expect(decodeRanges(new Uint8Array(retry.buffer, gap.offset, gap.length), 1)).toEqual([[2, 5]]);
    answer(3, null);
    await fourth;
    expect(shard.backlog).toBe(2);
    expect(take(9).map((delivery) => delivery.firstSeq)).toEqual([1, 5]);
  });

  it('repeats with the next group what a failed one was to do to the pool', async () => {
    const { sent, group, answer, stage } = setUp();
    const failed = expect(group.submit(stage('a'))).rejects.toThrow(QueueError);
    await turn();
    const wanted = sent[0]!.pool;
    expect(wanted.assign).toHaveLength(1);
    answer(0, full);
    await failed;
    void group.submit(stage('b'));
    await turn();
    expect(sent[1]!.pool).toEqual(wanted);
  });

  it('ends for good after a failure that leaves the file unknown', async () => {
    const { group, answer, stage, fatal } = setUp();
    const first = expect(group.submit(stage('a'))).rejects.toThrow(
      expect.objectContaining({ code: 'INSTANCE_FAILED', details: { cause: 'STORAGE_CORRUPT' } }),
    );
    await turn();
    const behind = expect(group.submit(stage('b'))).rejects.toThrow(QueueError);
    answer(0, damaged);
    await Promise.all([first, behind]);
    expect(fatal()?.code).toBe('INSTANCE_FAILED');
    await expect(group.submit(stage('c'))).rejects.toThrow(QueueError);
  });
});

describe('after a failed group', () => {
  it('builds no group until the ones behind the failed one are answered', async () => {
    const { sent, group, answer, stage } = setUp();
    const refused = expect.objectContaining({ code: 'STORAGE_FULL' });
    const first = expect(group.submit(stage('a'))).rejects.toThrow(refused);
    await turn();
    const second = expect(group.submit(stage('b'))).rejects.toThrow(refused);
    await turn();
    const third = group.submit(stage('c'));
    answer(0, full);
    await turn();
    expect(sent).toHaveLength(2);
    answer(1, full);
    await turn();
    expect(sent).toHaveLength(3);
    answer(2, null);
    await Promise.all([first, second, third]);
  });

  it('keeps a gap until a group that carries it is durable', async () => {
    const { sent, group, answer, stage } = setUp();
    for (const index of [0, 1]) {
      const failed = expect(group.submit(stage('x'))).rejects.toThrow(QueueError);
      await turn();
      answer(index, full);
      await failed;
    }
    const last = group.submit(stage('y'));
    await turn();
    const { buffer, deltas } = sent[2]!;
    expect(deltas).toHaveLength(1);
    expect(decodeRanges(new Uint8Array(buffer, deltas[0]!.offset, deltas[0]!.length), 1)).toEqual([[1, 3]]);
    answer(2, null);
    await last;
  });

  it('stores gap and consumption of one partition as one row', async () => {
    const { sent, shard, group, answer, stage, take } = setUp();
    const put = group.submit(stage('a'));
    await turn();
    answer(0, null);
    await put;
    const failed = expect(group.submit(stage('b'))).rejects.toThrow(QueueError);
    await turn();
    answer(1, full);
    await failed;
    const consumed = group.submit({ runs: [], deliveries: take(1), bytes: 0, sync: 'FULL' });
    await turn();
    const { buffer, deltas } = sent[2]!;
    expect(deltas).toHaveLength(1);
    expect(decodeRanges(new Uint8Array(buffer, deltas[0]!.offset, deltas[0]!.length), 1)).toEqual([[1, 3]]);
    answer(2, null);
    await consumed;
    expect(shard.backlog).toBe(0);
  });
});

describe('a session that holds the writer', () => {
  it('gets it once nothing is under way, and no group closes until its own, which those share who waited', async () => {
    const { sent, group, answer, stage, hold, released } = setUp();
    const first = group.submit(stage('a'));
    await turn();
    const held = group.hold(hold);
    const behind = group.submit(stage('b'));
    await turn();
    expect(sent).toHaveLength(1);
    answer(0, null);
    await Promise.all([first, held]);
    await turn();
    expect(sent).toHaveLength(1);
    const own = group.submit({ ...stage('c'), hold });
    expect(sent).toHaveLength(2);
    expect(sent[1]!.blocks).toEqual([expect.objectContaining({ firstSeq: 2, count: 2 })]);
    answer(1, null);
    await Promise.all([own, behind]);
    hold.release(); // too late to undo anything
    expect(released()).toBe(0);
  });

  it('is sent to the writer also where no message is written: the rows are there already', async () => {
    const { sent, group, answer, hold } = setUp();
    await group.hold(hold);
    const own = group.submit({ runs: [], deliveries: [], bytes: 0, sync: 'FULL', hold });
    expect(sent).toHaveLength(1);
    answer(0, null);
    await own;
  });

  it('gives it back without a commit, and the others go on', async () => {
    const { sent, group, answer, stage, hold, released } = setUp();
    await group.hold(hold);
    const other = group.submit(stage('a'));
    await turn();
    expect(sent).toHaveLength(0);
    hold.release();
    expect(released()).toBe(1);
    await turn();
    answer(0, null);
    await other;
  });

  it('lets go of it when its group fails, and the next one gets it only when all behind are answered', async () => {
    const { sent, group, answer, stage, hold, released } = setUp();
    const refused = expect.objectContaining({ code: 'STORAGE_FULL' });
    await group.hold(hold);
    const own = expect(group.submit({ ...stage('a'), hold })).rejects.toThrow(refused);
    const behind = expect(group.submit(stage('b'))).rejects.toThrow(refused);
    await turn();
    const next = new WriterHold({ execute: () => Promise.reject(new Error()), release: () => undefined });
    let holds = false;
    const held = group.hold(next).then(() => {
      holds = true;
    });
    answer(0, full);
    await Promise.all([own, turn()]);
    expect([sent.length, holds]).toEqual([2, false]);
    answer(1, full);
    await Promise.all([behind, held]);
    expect(released()).toBe(0);
    const after = group.submit({ ...stage('c'), hold: next });
    expect(sent[2]!.generation).toBe(1);
    answer(2, null);
    await after;
  });
});
