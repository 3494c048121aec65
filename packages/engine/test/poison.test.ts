/**
 * Messages whose handler always fails, in front of good ones: all good ones are done, each bad one is tried as often as its queue
 * allows and is then in the exception queue, with the error and the times of its attempts. Whatever the kind of queue, the client
 * and the number of handlers.
 */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type ClientSession,
  type EmbeddedQueue,
  exceptionProperties,
  type Message,
  openQueue,
  type QueueKind,
  type QueueSpec,
  RejectMessage,
  type RemoteInstance,
  RetryLater,
  type Session,
} from '../src/index.ts';
import { FailureLog } from '../src/model/failure-log.ts';
import { makeFolder, openTestClient, openTestInstance } from './folder.ts';

const good = 200;
const attemptsMax = 3;

class CannotHandle extends Error {
  override readonly name = 'CannotHandle';
}

/** Counts the calls for each payload; the bad ones fail. */
class Handler {
  readonly calls = new Map<string, number>();
  readonly handle = (message: Message): void => {
    const payload = message.payload.toString();
    const calls = (this.calls.get(payload) ?? 0) + 1;
    this.calls.set(payload, calls);
    expect(message.deliveryCount).toBe(calls);
    if (payload.startsWith('bad')) throw new CannotHandle(`cannot handle ${payload}`);
  };
}

const payloads = (what: string, count: number) => Array.from({ length: count }, (_, i) => `${what} ${i}`);
const messagesOf = (bad: number) =>
  [...payloads('bad', bad), ...payloads('good', good)].map((payload) => ({ payload }));

interface Counted {
  ready: number;
  held: number;
  delayed: number;
}

async function expectAllDone(
  { calls }: Handler,
  bad: number,
  queue: { info(name: string): Promise<Counted>; openSession(): Session },
): Promise<void> {
  await vi.waitFor(
    async () => {
      expect(await queue.info('orders')).toMatchObject({ ready: 0, held: 0, delayed: 0 });
      expect(await queue.info('orders.exceptions')).toMatchObject({ ready: bad });
    },
    { timeout: 60_000, interval: 20 },
  );
  const expected = [
    ...payloads('bad', bad).map((payload) => [payload, attemptsMax] as const),
    ...payloads('good', good).map((payload) => [payload, 1] as const),
  ];
  expect(new Map(expected)).toEqual(calls);
  const session = queue.openSession();
  const moved = await session.dequeue('orders.exceptions', { max: bad });
  await session.commit();
  expect(moved.map(({ payload }) => payload.toString()).sort()).toEqual(payloads('bad', bad));
  for (const message of moved) {
    const payload = message.payload.toString();
    expect(message.properties).toMatchObject({
      [exceptionProperties.queue]: 'orders',
      [exceptionProperties.reason]: `delivered ${attemptsMax} times without being consumed`,
      [exceptionProperties.errorName]: 'CannotHandle',
      [exceptionProperties.errorMessage]: `cannot handle ${payload}`,
      [exceptionProperties.errorStack]: expect.stringContaining('poison.test.ts'),
    });
    const times = JSON.parse(message.properties![exceptionProperties.attemptsEndedAt]!) as string[];
    expect(times).toHaveLength(attemptsMax);
    expect(times).toEqual([...times].sort());
  }
}

const kinds: QueueKind[] = ['sharded', 'unsharded', 'unsharded-grouped'];
const cases = kinds.flatMap((kind) =>
  [1, 8].flatMap((concurrency) => [1, 2, 3, 4, 5, 6, 7, 8].map((bad) => ({ kind, concurrency, bad }))),
);
const specOf = (kind: QueueKind): QueueSpec => ({ name: 'orders', kind, attemptsMax, retryDelayMs: 1 });

describe('messages whose handler always fails', () => {
  it.each(cases)(
    'stop no other: $kind, $concurrency handlers, $bad bad',
    async ({ kind, concurrency, bad }) => {
      const queue = await openQueue({ dir: makeFolder(), ...specOf(kind) });
      onTestFinished(() => queue.close());
      await queue.enqueue(messagesOf(bad));
      const handler = new Handler();
      const stop = new AbortController();
      let reported = 0;
      const onError = (error: unknown) => {
        expect(error).toBeInstanceOf(CannotHandle);
        reported += 1;
      };
      const consuming = queue.consume(handler.handle, { concurrency, signal: stop.signal, onError });
      await expectAllDone(handler, bad, hostOf(queue));
      stop.abort();
      await consuming;
      expect(reported).toBe(bad * attemptsMax);
    },
  );

  it.each(cases.filter(({ bad }) => bad === 8))(
    'stop no session of another process: $kind, $concurrency of them',
    async ({ kind, concurrency, bad }) => {
      const client = await serve(specOf(kind));
      await enqueue(client, bad);
      const handler = new Handler();
      const stop = new AbortController();
      const work = Array.from({ length: concurrency }, () => runSession(client, handler, stop.signal));
      await expectAllDone(handler, bad, hostOfClient(client));
      stop.abort();
      await Promise.all(work);
    },
  );

  it.each([1, 8])('stop none of %i listeners', async (concurrency) => {
    const client = await serve(specOf('sharded'));
    await enqueue(client, 8);
    const handler = new Handler();
    const listener = async (message: Message) => handler.handle(message);
    for (let i = 0; i < concurrency; i += 1)
      await client.openSession().openConsumer('orders', { listener, onError: () => undefined });
    await expectAllDone(handler, 8, hostOfClient(client));
  });
});

/** `openQueue` shows no other queue, so the messages of its exception queue are counted by a dequeue. */
const hostOf = (queue: EmbeddedQueue) => ({
  openSession: () => queue.openSession(),
  async info(name: string): Promise<Counted> {
    if (name === 'orders') return queue.info();
    const session = queue.openSession();
    const { length: ready } = await session.dequeue(name, { max: 100 });
    await session.close();
    return { ready, held: 0, delayed: 0 };
  },
});

const hostOfClient = (client: RemoteInstance) => ({
  openSession: () => client.openSession(),
  info: (name: string) => client.queue(name),
});

async function serve(spec: QueueSpec): Promise<RemoteInstance> {
  const instance = await openTestInstance();
  await instance.createQueue(spec);
  return openTestClient(instance);
}

async function enqueue(client: RemoteInstance, bad: number): Promise<void> {
  const session = client.openSession();
  for (const message of messagesOf(bad)) session.enqueue('orders', message);
  await session.commit();
  await session.close();
}

async function runSession(client: RemoteInstance, handler: Handler, signal: AbortSignal): Promise<void> {
  const session: ClientSession = client.openSession();
  while (!signal.aborted) {
    const [message] = await session.dequeue('orders', { waitMs: 60_000, signal });
    if (message === undefined) continue;
    try {
      handler.handle(message);
    } catch (error) {
      await session.rollback({ error });
      continue;
    }
    await session.commit();
  }
  await session.close();
}

describe('a message whose handler fails', () => {
  const spec = { dir: '', name: 'orders' };

  it('waits for a back-off, moves after five attempts to an exception queue that is made then, and is logged', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    const queue = await openQueue({ ...spec, dir: makeFolder() });
    onTestFinished(() => queue.close());
    expect(queue.info()).toMatchObject({
      attemptsMax: 5,
      attemptsCounted: 'on-return',
      exceptionQueue: null,
    });
    const [id] = await queue.enqueue(messagesOf(1));
    const endedAtMs: number[] = [];
    let done = 0;
    void queue.consume((message) => {
      if (message.payload.toString() !== 'bad 0') done += 1;
      else {
        endedAtMs.push(performance.now());
        throw new CannotHandle('first\nforged line');
      }
    });
    await vi.waitFor(() => expect(queue.info().exceptionQueue).toBe('orders.exceptions'), {
      timeout: 60_000,
    });
    expect(done).toBe(good);
    expect(endedAtMs).toHaveLength(5);
    for (const [index, ms] of [100, 200, 400, 800].entries())
      expect(endedAtMs[index + 1]! - endedAtMs[index]!).toBeGreaterThanOrEqual(ms - 1);
    const lines = warn.mock.calls.map(([line]) => line as string);
    expect(lines).toHaveLength(5);
    expect(lines[1]).toBe(
      `shardlab: queue orders: message ${id}, delivery 2, failed: CannotHandle: first forged line`,
    );
  });

  it('moves at once if it is rejected, with the cause, also without a limit', async () => {
    const queue = await openQueue({ ...spec, dir: makeFolder(), attemptsMax: null });
    onTestFinished(() => queue.close());
    await queue.enqueue({ payload: 'bad' });
    void queue.consume(
      () => {
        throw new RejectMessage('not for us', { cause: new CannotHandle('no such customer') });
      },
      { onError: () => undefined },
    );
    await vi.waitFor(() => expect(queue.info().exceptionQueue).toBe('orders.exceptions'), {
      timeout: 60_000,
    });
    const [moved] = await queue.openSession().dequeue('orders.exceptions', { waitMs: 60_000 });
    expect(moved!.properties).toMatchObject({
      [exceptionProperties.reason]: 'rejected by its consumer, delivered once',
      [exceptionProperties.errorName]: 'CannotHandle',
      [exceptionProperties.errorMessage]: 'no such customer',
    });
  });

  it('waits as long as the handler asks', async () => {
    const queue = await openQueue({ ...spec, dir: makeFolder() });
    onTestFinished(() => queue.close());
    await queue.enqueue(['later', 'now'].map((payload) => ({ payload })));
    const seen: string[] = [];
    void queue.consume(
      (message) => {
        seen.push(message.payload.toString());
        if (message.payload.toString() === 'later') throw new RetryLater(3_600_000);
      },
      { onError: () => undefined },
    );
    await vi.waitFor(() => expect(queue.info()).toMatchObject({ delayed: 1, consumed: 1, ready: 0 }));
    expect(seen).toEqual(['later', 'now']);
    expect(() => new RetryLater(-1)).toThrow(expect.objectContaining({ code: 'OPTIONS_INVALID' }));
  });
});

describe('the log of failures', () => {
  it('has ten lines in ten seconds, and then how many it left out', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    let nowMs = 0;
    const log = new FailureLog('orders', { monotonicMs: () => nowMs });
    for (let i = 0; i < 10_000; i += 1) log.add(new Error('x'), { id: '100.1', deliveryCount: 1 });
    expect(warn).toHaveBeenCalledTimes(10);
    nowMs = 10_000;
    log.add(new Error('y'));
    expect(warn.mock.calls.slice(10)).toEqual([
      ['shardlab: queue orders: 9990 more failures were not logged'],
      ['shardlab: queue orders: a consumer failed: Error: y'],
    ]);
  });
});
