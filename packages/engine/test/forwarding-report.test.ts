/** What a receiver says of the messages that it was given, to a giver that this test plays. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Batch } from '../src/instance/forwarding/interconnect.ts';
import type { InlineInstance } from '../src/instance/inline-instance.ts';
import { writeRecord } from '../src/storage/message-record.ts';
import { openTestInstance, text } from './folder.ts';

const giver = { instance: 1, epoch: 1, connection: 1 };
/** The first queue, and the first shard of the giver. */
const name = { queueId: 1, shard: 100 };

function batch(no: number, payload: string): Batch {
  const source = Buffer.alloc(1_000);
  const end = writeRecord(source, 0, { payload }, { enqueuedAtMs: 0, id: `100.${no}` });
  return {
    ...name,
    no,
    extent: [{ shard: 100, firstSeq: no, count: 1 }],
    attempts: [],
    records: { source, start: 0, end, count: 1 },
  };
}

it('a batch that comes while a report is made is not reported as delivered before it is', async () => {
  const instance = (await openTestInstance({ instance: 2 })) as InlineInstance;
  await instance.createQueue({ name: 'q' });
  const unreachable = () => undefined as never;
  instance.connectTo({ idleMs: 60_000, peers: () => [], peer: unreachable });
  const session = instance.openSession();
  const { forwarding } = instance;
  expect(await forwarding.accept(giver, batch(1, 'first'), 0)).toBe(true);
  let reported = false;
  const report = forwarding.report(giver, name, true).finally(() => {
    reported = true;
  });
  const coming = forwarding.accept(giver, batch(2, 'second'), 0);
  expect(text(await session.dequeue('q'))).toEqual(['first']);
  expect(await coming).toBe(true);
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect(reported).toBe(false);
  expect(text(await session.dequeue('q'))).toEqual(['second']);
  expect(await report).toMatchObject({ batchNo: 2, delivered: true });
});
