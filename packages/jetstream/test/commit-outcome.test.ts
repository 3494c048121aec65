/** Outcomes of a transaction that enqueues first, when a hold ends or the servers fail between its two parts. */
import type { Msg } from '@nats-io/transport-node';
import { QueueError } from '@shardlab/engine';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Deliveries, Delivery } from '../src/deliveries.ts';
import { JetStreamSession, type SessionContext } from '../src/jetstream-session.ts';
import { ShardBindings } from '../src/shard-bindings.ts';
import { TimedHolds } from '../src/timed-holds.ts';

const holdMs = 200;
const delivery = {
  queue: 'q',
  stored: { id: 'm', payload: Buffer.from('x'), enqueuedAtMs: 0 },
  deliveryCount: 1,
} as Delivery;
const code = (expected: string) => expect.objectContaining({ code: expected });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A session that has received one message, on servers whose answer to a publish the test gives. */
function receivedOne(consume: () => Promise<Delivery[]> = async () => []) {
  const nacked: Delivery[] = [];
  const consumed = vi.fn(consume);
  const published = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Msg>();
  const deliveries = {
    holds: { isValid: () => true },
    nack: async (all: readonly Delivery[]) => void nacked.push(...all),
    consume: consumed,
  } as unknown as Deliveries;
  const timedHolds = new TimedHolds(deliveries);
  const request = () => {
    published.resolve();
    return answer.promise;
  };
  const row = { name: 'q', type: 'queue', shards: 1, enqueueEnabled: true };
  const session = new JetStreamSession({
    link: { messageBytesMax: 1_000_000, request },
    catalog: { row: async () => row },
    deliveries,
    timedHolds,
    shards: new ShardBindings(),
    enqueuesFirst: true,
    outcomeMs: 1_000,
    onClosed: () => undefined,
  } as unknown as SessionContext);
  const receipt = timedHolds.add(delivery, holdMs);
  session.acknowledge('q', [receipt]);
  session.enqueue('q', { payload: 'next' });
  return {
    session,
    receipt,
    nacked,
    consumed,
    published: published.promise,
    answer: (body: object) => answer.resolve({ string: () => JSON.stringify(body) } as Msg),
  };
}

it('a hold that ends during the publish ends with the commit, which consumes its message', async () => {
  const { session, nacked, consumed, published, answer } = receivedOne();
  const commit = session.commit();
  await published;
  vi.advanceTimersByTime(holdMs);
  answer({});
  expect((await commit).ids).toHaveLength(1);
  expect(consumed).toHaveBeenCalledWith([delivery]);
  expect(nacked).toEqual([]);
});

it('a refused publish leaves the received messages held for the rest of their time', async () => {
  const { session, receipt, nacked, consumed, published, answer } = receivedOne();
  const commit = expect(session.commit()).rejects.toThrow(code('STORAGE_FULL'));
  await published;
  vi.advanceTimersByTime(holdMs / 2);
  answer({ error: { err_code: 10077 } });
  await commit;
  expect((await session.messageOfReceipt('q', receipt)).id).toBe('m');
  expect(nacked).toEqual([]);
  vi.advanceTimersByTime(holdMs / 2);
  expect(nacked).toEqual([delivery]);
  expect(consumed).not.toHaveBeenCalled();
});

it('a consumption that fails after the publish has an unknown outcome, with the reason as its cause', async () => {
  const cause = new QueueError('STORE_UNAUTHORIZED');
  const { session, answer } = receivedOne(() => Promise.reject(cause));
  answer({});
  const error = await session.commit().catch((failure: unknown) => failure);
  expect(error).toMatchObject({
    code: 'COMMIT_OUTCOME_UNKNOWN',
    cause,
    details: { enqueued: [expect.any(String)], consumed: [], unknown: ['m'] },
  });
});
