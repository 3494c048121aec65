/** Group commit with a writer whose answers the test decides, and the state after a failed group. */
import { describe, expect, it } from 'vitest';
import { QueueError } from '../src/api/errors.ts';
import { limits } from '../src/api/limits.ts';
import { CommitOutcomes } from '../src/commit/commit-outcomes.ts';
import { GroupCommit } from '../src/commit/group-commit.ts';
import { newStagedTransaction, type StagedTransaction } from '../src/commit/staged-transaction.ts';
import { WriterReservation } from '../src/commit/writer-reservation.ts';
import type { Delivery } from '../src/log/delivery.ts';
import { MessageCache } from '../src/log/message-cache.ts';
import { MessageLog } from '../src/log/message-log.ts';
import { decodeRanges } from '../src/model/consumption.ts';
import type { Group } from '../src/model/group-message.ts';
import { readRecord, writeRecord } from '../src/model/message-record.ts';
import { LogPartitions, PartitionPool } from '../src/model/partitions.ts';
import { recordBytes } from '../src/model/session-calls.ts';
import type { StorageFailure } from '../src/model/storage-failure.ts';
import { WaitRecorder } from '../src/model/wait-recorder.ts';
import { nodePorts } from '../src/node-ports.ts';

const full: StorageFailure = { code: 'STORAGE_FULL', message: 'The disk is full', details: {}, fatal: false };
const damaged: StorageFailure = { code: 'STORAGE_CORRUPT', message: 'Damaged', details: {}, fatal: true };

function setUp() {
  const sent: Group[] = [];
  let fatal: QueueError | undefined;
  let released = 0;
  const log = new MessageLog(
    {
      queueId: 1,
      id: 100,
      persistent: true,
      firstSeq: 1,
      endSeq: 1,
      partitionMessagesMax: 100,
      retentionMs: 0,
      correlationIndexed: false,
    },
    new MessageCache(1_000_000).openShare(),
  );
  const cursor = log.addCursor({ subscriber: 0, name: undefined, durable: true, firstSeq: 1 });
  const pool = new PartitionPool([], []);
  const group = new GroupCommit({
    firstGroupNumber: 1,
    pool,
    outcomes: new CommitOutcomes(nodePorts.clock),
    waits: new WaitRecorder({ clock: nodePorts.clock }),
    clock: nodePorts.clock,
    timers: nodePorts.timers,
    writer: {
      send: (built) => void sent.push(built),
      rollbackReservation: () => {
        released += 1;
      },
    },
    onVisible: () => undefined,
    onOldPartition: () => undefined,
    onRetained: () => undefined,
    onFatal: (error) => {
      fatal = error;
    },
  });
  const answer = (index: number, failure: StorageFailure | null) => {
    const { groupNumber, generation } = sent[index]!;
    group.onResult({
      kind: 'group',
      groupNumber,
      generation,
      failure,
      appliedThrough: 0,
      unusablePartitions: [],
      sqlOutcomes: [],
      maintenanceMs: 0,
      switchMs: 0,
      commitMs: 0,
      cpuUs: 0,
    });
  };
  const applied = (index: number, unusablePartitions: number[]) =>
    group.onApplied({ through: sent[index]!.groupNumber, unusablePartitions });
  const stage = (...payloads: string[]): StagedTransaction => {
    const segments = payloads.map((payload) => {
      const buffer = Buffer.alloc(recordBytes({ payload }));
      const end = writeRecord(buffer, 0, { payload }, { enqueuedAtMs: 0 });
      return { firstSeq: 0, count: 1, buffer, start: 0, end, fromDisk: false, retainCount: 0 };
    });
    return {
      ...newStagedTransaction(),
      runs: [{ log, segments, count: payloads.length, firstSeq: 0 }],
      bytes: 100,
      sync: 'FULL',
    };
  };
  const take = (max: number) => {
    const out: Delivery[] = [];
    cursor.deliver({ max, nextHoldNumber: () => 1, out });
    return out;
  };
  const hold = new WriterReservation({
    writer: { executeStatement: () => Promise.reject(new Error('no statement')) },
    timers: nodePorts.timers,
    onReleased: (ended) => group.releaseWriter(ended),
  });
  return {
    sent,
    log,
    pool,
    group,
    answer,
    applied,
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
  it('groups all commits of one turn, visible only once the group is durable', async () => {
    const { sent, log, group, answer, stage, take } = setUp();
    const commits = [group.commit(stage('a', 'b')), group.commit(stage('c'))];
    await turn();
    expect(sent).toHaveLength(1);
    expect(sent[0]!.blocks).toEqual([expect.objectContaining({ firstSeq: 1, count: 3 })]);
    expect(log.backlog).toBe(0);
    answer(0, null);
    await Promise.all(commits);
    expect(take(9).map(({ run, start }) => readRecord(run.buffer, start).payload.toString())).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('has at most two groups in flight', async () => {
    const { sent, group, answer, stage } = setUp();
    for (const payload of ['a', 'b', 'c']) {
      void group.commit(stage(payload));
      await turn();
    }
    expect(sent).toHaveLength(2);
    answer(0, null);
    await turn();
    expect(sent).toHaveLength(3);
  });

  it('waits while the writer is busy for all callers resumed by the last group, over any number of turns', async () => {
    const { sent, log, group, answer, stage } = setUp();
    const sessions = limits.resumedOperationsPerTurnMax * 2 + 1;
    const again: Promise<void>[] = [];
    const session = async () => {
      await group.commit(stage('first'));
      again.push(group.commit(stage('next')));
    };
    const working = Promise.all(Array.from({ length: sessions }, session));
    await turn();
    void group.commit(stage('behind them'));
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
    expect(log.backlog).toBe(2 * sessions + 1);
  });

  it('does not wait for resumed callers if the writer is idle', async () => {
    const { sent, group, answer, stage } = setUp();
    const sessions = limits.resumedOperationsPerTurnMax * 3;
    const session = async () => {
      await group.commit(stage('first'));
      void group.commit(stage('next'));
    };
    const working = Promise.all(Array.from({ length: sessions }, session));
    await turn();
    answer(0, null);
    await working;
    await turn();
    expect(sent.map(({ blocks }) => blocks.reduce((sum, { count }) => sum + count, 0))).toEqual([
      sessions,
      limits.resumedOperationsPerTurnMax * 2,
      limits.resumedOperationsPerTurnMax,
    ]);
  });

  it('fails the groups behind a failed one, records their numbers as gaps, and continues', async () => {
    const { sent, log, group, answer, stage, take } = setUp();
    const first = group.commit(stage('a'));
    await turn();
    answer(0, null);
    await first;
    const second = expect(group.commit(stage('b', 'c'))).rejects.toThrow(
      expect.objectContaining({ code: 'STORAGE_FULL' }),
    );
    await turn();
    const third = expect(group.commit(stage('d'))).rejects.toThrow(
      expect.objectContaining({ code: 'STORAGE_FULL' }),
    );
    await turn();
    expect(sent.map((each) => each.generation)).toEqual([0, 0, 0]);
    answer(1, full);
    answer(2, full);
    await Promise.all([second, third]);
    expect(log.backlog).toBe(1);
    await turn();
    expect(sent).toHaveLength(3); // A failed group is not repeated by itself.

    const fourth = group.commit(stage('e'));
    await turn();
    const retry = sent[3]!;
    expect(retry.generation).toBe(1);
    expect(retry.blocks).toEqual([expect.objectContaining({ firstSeq: 5, count: 1 })]);
    const gap = retry.consumptionDeltas[0]!;
    expect(decodeRanges(new Uint8Array(retry.buffer, gap.offset, gap.length), 1)).toEqual([[2, 5]]);
    answer(3, null);
    await fourth;
    expect(log.backlog).toBe(2);
    expect(take(9).map((delivery) => delivery.firstSeq)).toEqual([1, 5]);
  });

  it('repeats the pool changes of a failed group with the next one', async () => {
    const { sent, group, answer, stage } = setUp();
    const failed = expect(group.commit(stage('a'))).rejects.toThrow(QueueError);
    await turn();
    const wanted = sent[0]!.poolChanges;
    expect(wanted.assign).toHaveLength(1);
    answer(0, full);
    await failed;
    void group.commit(stage('b'));
    await turn();
    expect(sent[1]!.poolChanges).toEqual(wanted);
  });

  it('gives an emptied partition back only once its group is applied, and never one that is damaged', async () => {
    const { sent, group, pool, answer, applied, stage } = setUp();
    const list = new LogPartitions();
    const owner = { queueId: 1, shard: 1, firstSeq: 1, hasCorrelationIndex: false };
    for (const firstSeq of [1, 10, 20]) list.assign(pool.assign(owner), firstSeq);
    list.append(25, 1);
    const [damagedOne, emptied] = list.all.map(({ id }) => id);
    for (const { id } of list.beginTruncatingDrained(20, 0)) pool.truncate(id, list);
    void group.commit(stage('a'));
    await turn();
    void group.commit(stage('b'));
    await turn();
    answer(0, null);
    answer(1, null);
    expect(list.all).toHaveLength(3);
    applied(0, [damagedOne!]);
    expect(list.all).toHaveLength(1);
    expect(group.unapplied.map(({ groupNumber }) => groupNumber)).toEqual([sent[1]!.groupNumber]);
    const given = Array.from({ length: 8 }, (_, index) => pool.assign({ ...owner, firstSeq: 100 + index }));
    expect(given).toContain(emptied);
    expect(given).not.toContain(damagedOne);
  });

  it('ends for good after a failure that leaves the state of the file unknown', async () => {
    const { group, answer, stage, fatal } = setUp();
    const first = expect(group.commit(stage('a'))).rejects.toThrow(
      expect.objectContaining({ code: 'INSTANCE_FAILED', details: { cause: 'STORAGE_CORRUPT' } }),
    );
    await turn();
    const behind = expect(group.commit(stage('b'))).rejects.toThrow(QueueError);
    answer(0, damaged);
    await Promise.all([first, behind]);
    expect(fatal()?.code).toBe('INSTANCE_FAILED');
    await expect(group.commit(stage('c'))).rejects.toThrow(QueueError);
  });
});

describe('after a failed group', () => {
  it('builds no group until the ones behind the failed one are answered', async () => {
    const { sent, group, answer, stage } = setUp();
    const refused = expect.objectContaining({ code: 'STORAGE_FULL' });
    const first = expect(group.commit(stage('a'))).rejects.toThrow(refused);
    await turn();
    const second = expect(group.commit(stage('b'))).rejects.toThrow(refused);
    await turn();
    const third = group.commit(stage('c'));
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
      const failed = expect(group.commit(stage('x'))).rejects.toThrow(QueueError);
      await turn();
      answer(index, full);
      await failed;
    }
    const last = group.commit(stage('y'));
    await turn();
    const { buffer, consumptionDeltas } = sent[2]!;
    expect(consumptionDeltas).toHaveLength(1);
    expect(
      decodeRanges(new Uint8Array(buffer, consumptionDeltas[0]!.offset, consumptionDeltas[0]!.length), 1),
    ).toEqual([[1, 3]]);
    answer(2, null);
    await last;
  });

  it('stores gap and consumption of one partition as one row', async () => {
    const { sent, log, group, answer, stage, take } = setUp();
    const put = group.commit(stage('a'));
    await turn();
    answer(0, null);
    await put;
    const failed = expect(group.commit(stage('b'))).rejects.toThrow(QueueError);
    await turn();
    answer(1, full);
    await failed;
    const consumed = group.commit({ ...newStagedTransaction(), deliveries: take(1), sync: 'FULL' });
    await turn();
    const { buffer, consumptionDeltas } = sent[2]!;
    expect(consumptionDeltas).toHaveLength(1);
    expect(
      decodeRanges(new Uint8Array(buffer, consumptionDeltas[0]!.offset, consumptionDeltas[0]!.length), 1),
    ).toEqual([[1, 3]]);
    answer(2, null);
    await consumed;
    expect(log.backlog).toBe(0);
  });
});

describe('a session that has reserved the writer', () => {
  it('gets the writer once no group is in flight; no group closes before its own, which waiting commits share', async () => {
    const { sent, group, answer, stage, hold, released } = setUp();
    const first = group.commit(stage('a'));
    await turn();
    const held = group.reserveWriter(hold);
    const behind = group.commit(stage('b'));
    await turn();
    expect(sent).toHaveLength(1);
    answer(0, null);
    await Promise.all([first, held]);
    await turn();
    expect(sent).toHaveLength(1);
    const own = group.commit({ ...stage('c'), reservation: hold });
    expect(sent).toHaveLength(2);
    expect(sent[1]!.blocks).toEqual([expect.objectContaining({ firstSeq: 2, count: 2 })]);
    answer(1, null);
    await Promise.all([own, behind]);
    hold.release(); // The commit has begun, so this release undoes nothing.
    expect(released()).toBe(0);
  });

  it('gets a group even without messages, since its rows are already written', async () => {
    const { sent, group, answer, hold } = setUp();
    await group.reserveWriter(hold);
    const own = group.commit({ ...newStagedTransaction(), sync: 'FULL', reservation: hold });
    expect(sent).toHaveLength(1);
    answer(0, null);
    await own;
  });

  it('may release the writer without a commit, and the other sessions continue', async () => {
    const { sent, group, answer, stage, hold, released } = setUp();
    await group.reserveWriter(hold);
    const other = group.commit(stage('a'));
    await turn();
    expect(sent).toHaveLength(0);
    hold.release();
    expect(released()).toBe(1);
    await turn();
    answer(0, null);
    await other;
  });

  it('releases the writer when its group fails; the next session gets it after the answers to all later groups', async () => {
    const { sent, group, answer, stage, hold, released } = setUp();
    const refused = expect.objectContaining({ code: 'STORAGE_FULL' });
    await group.reserveWriter(hold);
    const own = expect(group.commit({ ...stage('a'), reservation: hold })).rejects.toThrow(refused);
    const behind = expect(group.commit(stage('b'))).rejects.toThrow(refused);
    await turn();
    const next = new WriterReservation({
      writer: { executeStatement: () => Promise.reject(new Error()) },
      timers: nodePorts.timers,
      onReleased: () => undefined,
    });
    let holds = false;
    const held = group.reserveWriter(next).then(() => {
      holds = true;
    });
    answer(0, full);
    await Promise.all([own, turn()]);
    expect([sent.length, holds]).toEqual([2, false]);
    answer(1, full);
    await Promise.all([behind, held]);
    expect(released()).toBe(0);
    const after = group.commit({ ...stage('c'), reservation: next });
    expect(sent[2]!.generation).toBe(1);
    answer(2, null);
    await after;
  });
});
