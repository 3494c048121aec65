/** The place of a batch that returns to its owner among the messages that returned before it. */
import { expect, it } from 'vitest';
import { QueueError } from '../src/api/errors.ts';
import { highestSeq, takeAboveSeq } from '../src/forwarding/returned-order.ts';
import type { RecordRun } from '../src/model/message-record.ts';
import { readId, recordEnd, writeRecord } from '../src/model/message-record.ts';
import { cursorOver } from './log/log-fixture.ts';

const logId = 100;

/** Records of messages with their sequence numbers in the original log. */
function recordsOf(seqs: readonly number[]): RecordRun {
  const source = Buffer.alloc(seqs.length * 100);
  let end = 0;
  for (const seq of seqs)
    end = writeRecord(source, end, { payload: `${seq}` }, { enqueuedAtMs: 0, id: `${logId}.${seq}` });
  return { source, start: 0, end, count: seqs.length };
}

/** The log of returned messages, in the order of their return. */
function returnedLog(seqs: readonly number[]) {
  const fixture = cursorOver([]);
  const { log } = fixture;
  const { source: buffer, start, end } = recordsOf(seqs);
  log.nextSeq += seqs.length;
  log.append({ firstSeq: 1, count: seqs.length, buffer, start, end, fromDisk: false, retainCount: 0 });
  return fixture;
}

/** The sequence numbers of the messages that have to move behind a returning batch. */
async function behind(cursor: ReturnType<typeof returnedLog>['cursor'], batch: readonly number[]) {
  const priorAttempts: [number, number][] = batch.map((_, index) => [index, 1]);
  const seq = highestSeq({
    queueId: 1,
    shard: logId,
    batchNumber: 1,
    sourceRuns: [],
    priorAttempts,
    records: recordsOf(batch),
  });
  const taken = await takeAboveSeq(cursor, { seq, logId, readAhead: () => undefined });
  return taken.flatMap(({ run, start, end }) => {
    const ids: string[] = [];
    for (let at = start; at < end; at = recordEnd(run.buffer, at)) ids.push(readId(run.buffer, at)!);
    return ids.map((id) => Number(id.split('.')[1]));
  });
}

it('is placed before messages with higher numbers and behind those with lower ones', async () => {
  expect(await behind(returnedLog([50, 51, 74, 75]).cursor, [67, 68])).toEqual([74, 75]);
  expect(await behind(returnedLog([50, 51]).cursor, [67, 68])).toEqual([]);
});

it('is placed so after a restart too, when any of them may have been delivered before', async () => {
  const { cursor, log } = returnedLog([74, 75]);
  cursor.recoverDelivered(log.nextSeq);
  expect(await behind(cursor, [67, 68, 73])).toEqual([74, 75]);
});

it('leaves all messages ready if some of them cannot be read', async () => {
  const { cursor, log, commit } = cursorOver(['fills the cache'.padEnd(1_000_000)]);
  commit(['on disk only']);
  log.partitions.assign(1, 1);
  const readAhead = () => Promise.reject(new QueueError('STORAGE_FAILED'));
  const taking = takeAboveSeq(cursor, { seq: 1, logId, readAhead });
  await expect(taking).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(cursor).toMatchObject({ held: 0, ready: 2 });
});
