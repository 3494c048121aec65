/** A group of writes is one transaction with all operations that succeed, and a batch that is sent again does nothing twice. */
import { connect } from 'node:net';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { QueueError } from '../../src/api/errors.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { socketPath } from '../../src/storage/socket-path.ts';
import { encodeFrame } from '../../src/storage/threads/process-frames.ts';
import { UnshardedFile, unshardedPath } from '../../src/storage/unsharded/unsharded-file.ts';
import { type WriteBatch, type WriteOperation, writeGroup } from '../../src/storage/unsharded/write-group.ts';
import { GroupServer } from '../../src/unsharded/group-server.ts';
import type { SharedFileLock } from '../../src/unsharded/shared-file-lock.ts';
import { makeFolder } from '../folder.ts';
import { waiting } from '../waiting.ts';

const queueId = 1;

function setUp() {
  const dir = makeFolder();
  const open = (closesAtEnd = true) => {
    const file = new UnshardedFile(dir, {
      queues: () => [{ queueId, name: 'q' }],
      queueById: () => ({ queueId, name: 'q' }),
      onFailed: (error) => {
        throw error;
      },
      ports: nodePorts,
    });
    if (closesAtEnd) onTestFinished(() => file.close());
    return file;
  };
  const file = open();
  const reader = new Database(unshardedPath(dir), { readonly: true });
  onTestFinished(() => void reader.close());
  /** Number of durable transactions so far. */
  const commits = () =>
    reader.prepare('SELECT commit_number FROM queue_total WHERE queue_id = 0').pluck().get() as number;
  return { dir, file, open, commits };
}

const put = (...payloads: string[]): WriteOperation => ({
  kind: 'commit',
  change: {
    enqueued: payloads.map((payload) => ({ queueId, record: Buffer.from(payload) })),
    consumed: [],
    sync: 'FULL',
  },
});
const consume = (...rows: { id: number; crc: number }[]): WriteOperation => ({
  kind: 'commit',
  change: { enqueued: [], consumed: rows.map(({ id, crc }) => ({ queueId, id, crc })), sync: 'FULL' },
});
const claim = (max: number): WriteOperation => ({ kind: 'claim', consumer: { queueId, subscriber: 0 }, max });

let batches = 0;
function batchOf(
  file: UnshardedFile,
  operations: WriteOperation[],
  more: Partial<WriteBatch> = {},
): WriteBatch {
  batches += 1;
  return { holder: file.holder, number: batches, operations, isRemote: false, resent: false, ...more };
}

/** Writes one batch as a group; returns its answers, with failures as their codes. */
function write(file: UnshardedFile, batch: WriteBatch) {
  return writeGroup(file, [batch]).answers[0]!.map((answer) => {
    if (answer.failure !== undefined) return answer.failure.code;
    return { ids: answer.ids, texts: answer.rows.map(({ record }) => String(record)), rows: answer.rows };
  });
}

const run = (firstSeq: number, count: number) => [{ shard: 0, firstSeq, count }];

describe('a group', () => {
  it('is one durable transaction, with ids in the order of its commits and messages in the order of its claims', () => {
    const { file, commits } = setUp();
    const before = commits();
    const answers = write(file, batchOf(file, [put('a', 'b'), put('c'), claim(1), claim(9), claim(1)]));
    expect(answers).toMatchObject([
      { ids: run(1, 2) },
      { ids: run(3, 1) },
      { texts: ['a'] },
      { texts: ['b', 'c'] },
      { texts: [] },
    ]);
    expect(commits()).toBe(before + 1);
    expect(file.counts(queueId)).toEqual({ enqueued: 3, consumed: 0, held: 3, ready: 0 });
  });

  it('of several processes gives each message to one of them, and consumes what each holds', () => {
    const { file, open } = setUp();
    const other = open();
    write(file, batchOf(file, [put('a', 'b', 'c', 'd')]));
    const claimed = writeGroup(file, [batchOf(file, [claim(2)]), batchOf(other, [claim(9)])]);
    const [own, others] = claimed.answers.map(
      ([answer]) => (answer as { rows: { id: number; crc: number }[] }).rows,
    );
    expect([own!.map(({ id }) => id), others!.map(({ id }) => id)]).toEqual([
      [1, 2],
      [3, 4],
    ]);
    const { answers } = writeGroup(file, [
      batchOf(file, [consume(own![1]!)]),
      batchOf(other, [consume(...others!)]),
    ]);
    expect(answers.flat().map(({ failure }) => failure)).toEqual([undefined, undefined]);
    expect(file.counts(queueId)).toEqual({ enqueued: 4, consumed: 3, held: 1, ready: 0 });
  });

  it('does all operations except the one that fails', () => {
    const { file } = setUp();
    const notHeld = { id: 77, crc: 1 };
    expect(write(file, batchOf(file, [put('a'), consume(notHeld), put('b'), claim(9)]))).toMatchObject([
      { ids: run(1, 1) },
      'STORAGE_FAILED',
      { ids: run(2, 1) },
      { texts: ['a', 'b'] },
    ]);
  });

  it('refuses the claim of a process that has ended, which would never return its messages', () => {
    const { file, open } = setUp();
    write(file, batchOf(file, [put('a')]));
    const ended = batchOf(open(), [claim(1)], { isRemote: true, holder: 99 });
    expect(writeGroup(file, [ended, batchOf(file, [claim(1)])]).answers).toMatchObject([
      [{ failure: { code: 'STORAGE_FAILED' } }],
      [{ rows: [{ id: 1 }] }],
    ]);
  });

  it('reports which queues have new ready messages', () => {
    const { file } = setUp();
    expect(writeGroup(file, [batchOf(file, [put('a')])]).readyQueues).toEqual([queueId]);
    expect(writeGroup(file, [batchOf(file, [claim(1)])]).readyQueues).toEqual([]);
    const release: WriteOperation = {
      kind: 'release',
      messages: [{ queueId, id: 1 }],
      seen: true,
      sync: 'NORMAL',
    };
    expect(writeGroup(file, [batchOf(file, [release])]).readyQueues).toEqual([queueId]);
  });

  describe('that enqueued the claimed messages lately', () => {
    const enqueueAndAlter = (sql: string) => {
      const { dir, file } = setUp();
      write(file, batchOf(file, [put('a', 'b')]));
      const other = new Database(unshardedPath(dir));
      other.exec(sql);
      other.close();
      return file;
    };

    it('answers from memory, and reads a record that was returned', () => {
      const file = enqueueAndAlter("UPDATE message SET record = x'00' WHERE id = 2");
      const [, answer] = write(file, batchOf(file, [claim(1), claim(1)]));
      expect(answer).toMatchObject({ texts: ['b'] });
      const release: WriteOperation = {
        kind: 'release',
        messages: [{ queueId, id: 2 }],
        seen: true,
        sync: 'NORMAL',
      };
      write(file, batchOf(file, [release]));
      expect(write(file, batchOf(file, [claim(1)]))).toEqual(['STORAGE_CORRUPT']);
    });

    it('refuses a message whose row has another checksum', () => {
      const file = enqueueAndAlter('UPDATE message SET crc = crc + 1 WHERE id = 1');
      expect(write(file, batchOf(file, [claim(2)]))).toEqual(['STORAGE_CORRUPT']);
    });

    it('delivers no message that is gone', () => {
      const file = enqueueAndAlter(
        'DELETE FROM message WHERE id = 1; UPDATE queue_total SET consumed = consumed + 1',
      );
      expect(write(file, batchOf(file, [claim(2)]))).toMatchObject([{ texts: ['b'] }]);
    });
  });

  it('does not count a delivery that no consumer has seen', () => {
    const { file } = setUp();
    write(file, batchOf(file, [put('a', 'b'), claim(2)]));
    const release = (id: number, seen: boolean): WriteOperation => ({
      kind: 'release',
      messages: [{ queueId, id }],
      seen,
      sync: 'NORMAL',
    });
    write(file, batchOf(file, [release(1, true), release(2, false)]));
    const [answer] = write(file, batchOf(file, [claim(2)]));
    expect(answer).toMatchObject({ rows: [{ deliveryCount: 2 }, { deliveryCount: 1 }] });
  });
});

describe('a batch that is sent again to another writer', () => {
  const remote = { isRemote: true };

  it('is not executed twice, and gets the same ids', () => {
    const { file, open } = setUp();
    const client = open();
    write(file, batchOf(file, [put('own'), claim(1)]));
    const batch = batchOf(client, [put('a', 'b'), put('c')], remote);
    const first = write(file, batch);
    expect(first).toMatchObject([{ ids: run(2, 2) }, { ids: run(4, 1) }]);
    write(file, batchOf(file, [put('later')]));
    expect(write(file, { ...batch, resent: true })).toEqual(first);
    expect(file.counts(queueId).enqueued).toBe(5);
  });

  it('is executed if it had not been', () => {
    const { file, open } = setUp();
    const client = open();
    write(file, batchOf(client, [put('before')], remote));
    expect(write(file, batchOf(client, [put('a')], { ...remote, resent: true }))).toMatchObject([
      { ids: run(2, 1) },
    ]);
    expect(file.counts(queueId).enqueued).toBe(2);
  });

  it('gets the same answers if some of its operations had failed', () => {
    const { file, open } = setUp();
    const client = open();
    const operations = [put('a'), consume({ id: 77, crc: 1 }), put('b')];
    const batch = batchOf(client, operations, remote);
    expect(write(file, batch)).toMatchObject([{ ids: run(1, 1) }, 'STORAGE_FAILED', { ids: run(2, 1) }]);
    expect(write(file, { ...batch, resent: true })).toMatchObject([
      { ids: run(1, 1) },
      'STORAGE_FAILED',
      { ids: run(2, 1) },
    ]);
    expect(file.counts(queueId).enqueued).toBe(2);
  });

  it('makes messages ready again that were claimed in an answer that got lost', () => {
    const { file, open } = setUp();
    const client = open();
    write(file, batchOf(file, [put('a', 'b', 'c')]));
    const [held] = write(file, batchOf(client, [claim(1)], remote));
    const untold = batchOf(client, [claim(1)], remote);
    write(file, untold);
    const { rows } = held as { rows: { id: number; crc: number }[] };
    const onlyHeld = rows.map(({ id }) => ({ queueId, id }));
    const again = write(file, { ...untold, resent: true, onlyHeld });
    expect(again).toMatchObject([{ rows: [{ id: 2, deliveryCount: 1 }] }]);
    expect(file.counts(queueId)).toMatchObject({ held: 2, ready: 1 });
    expect(write(file, batchOf(client, [consume(...rows)], remote))).toMatchObject([{ ids: [] }]);
  });

  it('keeps what it claims when an operation fails, and returns only claims of a lost answer', () => {
    const { file } = setUp();
    write(file, batchOf(file, [put('a', 'b', 'c'), claim(1)])); // the answer gets lost
    const operations = [claim(1), consume({ id: 77, crc: 1 }), claim(1)];
    expect(write(file, batchOf(file, operations, { onlyHeld: [] }))).toMatchObject([
      { texts: ['a'] },
      'STORAGE_FAILED',
      { texts: ['b'] },
    ]);
    expect(file.counts(queueId)).toMatchObject({ held: 2, ready: 1 });
  });

  it('returns claims of a lost answer even if its only operation fails', () => {
    const { file } = setUp();
    write(file, batchOf(file, [put('a'), claim(1)]));
    const failing = batchOf(file, [consume({ id: 77, crc: 1 })], { onlyHeld: [] });
    expect(writeGroup(file, [failing])).toMatchObject({
      answers: [[{ failure: { code: 'STORAGE_FAILED' } }]],
      readyQueues: [queueId],
    });
    expect(file.counts(queueId)).toMatchObject({ held: 0, ready: 1 });
  });

  it('leaves no claims and no outcomes behind when its process closes the file', () => {
    const { file, open } = setUp();
    const client = open(false);
    write(file, batchOf(client, [put('a'), claim(1)], remote));
    expect(file.outcomes(0)).toHaveLength(1);
    client.close();
    expect(file.outcomes(0)).toEqual([]);
    expect(file.counts(queueId)).toMatchObject({ held: 0, ready: 1 });
  });
});

describe('the elected writer', () => {
  it('does not write a batch whose calls it has rejected, because it could not get the lock', async () => {
    const { dir, file, open } = setUp();
    const own = [batchOf(file, [put('rejected')])];
    const turns: { run(): void; fail(error: QueueError): void }[] = [];
    const writeLock: SharedFileLock = {
      run: (_kind, work) =>
        new Promise((resolve, reject) => turns.push({ run: () => resolve(work()), fail: reject })),
      close: async () => undefined,
    };
    const rejections: unknown[] = [];
    const path = socketPath(dir, 'group-writer.sock');
    const server = await GroupServer.start({
      path,
      file,
      election: { release: () => undefined },
      writeLock,
      local: {
        take: () => own.pop(),
        onMessage: () => undefined,
        onFailed: (error) => void rejections.push(error),
      },
      ports: nodePorts,
    });
    const client = connect(path).on('error', () => undefined);
    onTestFinished(() => {
      client.destroy();
      server.close();
    });
    client.write(encodeFrame(batchOf(open(), [claim(1)], { isRemote: true })));
    await vi.waitFor(() => expect(turns).toHaveLength(1), waiting);
    turns[0]!.run(); // The claim goes first, and the batch of this process waits for the next group.
    turns[1]!.fail(new QueueError('STORAGE_FAILED'));
    await vi.waitFor(() => expect(rejections).toHaveLength(1), waiting);
    server.request();
    turns[2]!.run();
    expect(file.counts(queueId).enqueued).toBe(0);
  });
});
