/** What a receiver reports about the messages forwarded to it. The test plays the sender. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ForwardedBatch } from '../src/model/forwarded-batch.ts';
import { writeRecord } from '../src/model/message-record.ts';
import type { LocalInstance } from '../src/runtime/local-instance.ts';
import { openTestInstance, text } from './folder.ts';

const sender = { instance: 1, epoch: 1, connectionNumber: 1 };
/** The first queue, and the first shard of the sender. */
const shardKey = { queueId: 1, shard: 100 };

function batch(batchNumber: number, payload: string): ForwardedBatch {
  const source = Buffer.alloc(1_000);
  const end = writeRecord(source, 0, { payload }, { enqueuedAtMs: 0, id: `100.${batchNumber}` });
  return {
    ...shardKey,
    batchNumber,
    sourceRuns: [{ shard: 100, firstSeq: batchNumber, count: 1 }],
    priorAttempts: [],
    records: { source, start: 0, end, count: 1 },
  };
}

it('a report waits for the delivery of a batch that arrives while it is made', async () => {
  const instance = (await openTestInstance({ instance: 2 })) as LocalInstance;
  await instance.createQueue({ name: 'q' });
  const unreachable = () => undefined as never;
  instance.connectInterconnect({
    consumerIdleMs: 60_000,
    peers: () => [],
    peer: unreachable,
    callHome: unreachable,
    callBranch: unreachable,
  });
  const session = instance.openSession();
  const { forwarding } = instance;
  expect(await forwarding.acceptBatch(sender, batch(1, 'first'), 0)).toBe(true);
  let reported = false;
  const report = forwarding.reportReceived(sender, shardKey, true).finally(() => {
    reported = true;
  });
  const arriving = forwarding.acceptBatch(sender, batch(2, 'second'), 0);
  expect(text(await session.dequeue('q'))).toEqual(['first']);
  expect(await arriving).toBe(true);
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect(reported).toBe(false);
  expect(text(await session.dequeue('q'))).toEqual(['second']);
  expect(await report).toMatchObject({ batchNumber: 2, allDelivered: true });
});
