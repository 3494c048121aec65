/** Listening on the channel, and dequeuing by name: the counts of the document's four cases at each of their stages. */
import { describe, expect, it } from 'vitest';
import { countsOf, SessionThread, shareTopic, statisticsOf, whenFalselyWoken, whenIn } from './shared.ts';

const code = (value: string) => expect.objectContaining({ code: value });

async function openPair(
  names = ['KSUB_1', 'KSUB_31'],
  options: Parameters<typeof shareTopic>[1] = {},
  spec: Parameters<typeof shareTopic>[2] = {},
) {
  const { shared, instance } = await shareTopic(names, options, spec);
  const [enqueuer, dequeuer] = await Promise.all([SessionThread.open(shared), SessionThread.open(shared)]);
  return { shared, instance, enqueuer, dequeuer, counts: () => countsOf(shared, dequeuer) };
}

describe('the counts of a listen and a dequeue', () => {
  it('case 1: the message is ready before the listen', async () => {
    const { enqueuer, dequeuer, counts } = await openPair();
    await enqueuer.enqueue('one', 'KSUB_1');
    expect(await dequeuer.listen(['KSUB_1'], 60_000)).toBe('KSUB_1');
    expect(await dequeuer.dequeue('KSUB_1')).toBe('one');
    expect(counts()).toEqual({ lock: 2, pin: 3, latch: 3, mutex: 18 });
  });

  it('case 2: the message arrives during the listen', async () => {
    const { shared, enqueuer, dequeuer, counts } = await openPair();
    const listening = dequeuer.listen(['KSUB_1'], 60_000);
    await whenIn(shared, dequeuer, 'listening');
    expect(counts()).toEqual({ lock: 2, pin: 2, latch: 1, mutex: 12 });
    await enqueuer.enqueue('one', 'KSUB_1');
    expect(await listening).toBe('KSUB_1');
    expect(await dequeuer.dequeue('KSUB_1')).toBe('one');
    expect(counts()).toEqual({ lock: 4, pin: 5, latch: 9, mutex: 30 });
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ wakeUps: 1, falseWakeUps: 0, postsTaken: 1 });
  });

  it('case 3: a message for another subscriber arrives first and wakes the listen falsely', async () => {
    const { shared, enqueuer, dequeuer, counts } = await openPair();
    const listening = dequeuer.listen(['KSUB_1'], 60_000);
    await whenIn(shared, dequeuer, 'listening');
    expect(counts()).toEqual({ lock: 2, pin: 2, latch: 1, mutex: 12 });
    await enqueuer.enqueue('other', 'KSUB_31');
    await whenFalselyWoken(shared, dequeuer, 1);
    expect(counts()).toEqual({ lock: 4, pin: 4, latch: 7, mutex: 24 });
    await enqueuer.enqueue('one', 'KSUB_1');
    await listening;
    expect(await dequeuer.dequeue('KSUB_1')).toBe('one');
    expect(counts()).toEqual({ lock: 6, pin: 7, latch: 15, mutex: 42 });
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ wakeUps: 2, falseWakeUps: 1 });
  });

  it('case 4: no message arrives', async () => {
    const { shared, dequeuer, counts } = await openPair();
    const listening = dequeuer.listen(['KSUB_1'], 1_200);
    listening.catch(() => undefined);
    await whenIn(shared, dequeuer, 'listening');
    expect(counts()).toEqual({ lock: 2, pin: 2, latch: 1, mutex: 12 });
    await expect(listening).rejects.toMatchObject({
      code: 'LISTEN_TIMEOUT',
      details: { waitMs: 1_200, oracle: 'ORA-25254' },
    });
    expect(counts()).toEqual({ lock: 2, pin: 2, latch: 3, mutex: 12 });
    // The session woke by itself after a second, which took no lock, pin, latch or mutex.
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ polls: 2, listenTimeouts: 1, wakeUps: 0 });
  });

  it('ten listens take 30 gets of the latch, ten dequeues by name none', async () => {
    const { shared, enqueuer, dequeuer } = await openPair();
    for (let each = 0; each < 20; each += 1) await enqueuer.enqueue(`${each}`, 'KSUB_1');
    for (let each = 0; each < 10; each += 1) {
      await dequeuer.listen(['KSUB_1'], 10_000);
      expect(await dequeuer.dequeue('KSUB_1')).toBe(`${each}`);
    }
    expect(statisticsOf(shared, dequeuer).latch.gets).toBe(30);
    for (let each = 10; each < 20; each += 1) expect(await dequeuer.dequeue('KSUB_1')).toBe(`${each}`);
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ latch: { gets: 30 }, dequeued: 20 });
    // Without a listener the enqueuer takes no latch either.
    expect(statisticsOf(shared, enqueuer)).toMatchObject({ latch: { gets: 0 }, enqueued: 20 });
    expect(shared.statistics()).toMatchObject({ listeners: 0, locksHeld: 0, pinsHeld: 0 });
  });

  it('are the same where the object is hot', async () => {
    const { shared, enqueuer, dequeuer, counts } = await openPair(['KSUB_1'], { copies: 16 });
    const listening = dequeuer.listen(['KSUB_1'], 60_000);
    await whenIn(shared, dequeuer, 'listening');
    await enqueuer.enqueue('one', 'KSUB_1');
    await listening;
    expect(await dequeuer.dequeue('KSUB_1')).toBe('one');
    expect(counts()).toEqual({ lock: 4, pin: 5, latch: 9, mutex: 30 });
    expect(shared.statistics().subscribers).toEqual([{ name: 'KSUB_1', temporary: false, ready: 0 }]);
  });
});

describe('a listener', () => {
  it('gets the first of its subscribers that has a message', async () => {
    const { enqueuer, dequeuer } = await openPair(['a', 'b', 'c']);
    await enqueuer.enqueue('one', 'c');
    expect(await dequeuer.listen(['a', 'b', 'c'], 0)).toBe('c');
    await enqueuer.enqueue('two', 'b');
    expect(await dequeuer.listen(['a', 'b', 'c'], 0)).toBe('b');
    await expect(dequeuer.listen(['nobody'], 0)).rejects.toThrow(code('SUBSCRIBER_NOT_FOUND'));
  });

  it('returns a subscriber whose message another session has dequeued and not committed, so that the dequeue finds none', async () => {
    const { shared, enqueuer, dequeuer } = await openPair();
    const other = await SessionThread.open(shared);
    await enqueuer.enqueue('one', 'KSUB_1');
    expect(await other.dequeue('KSUB_1', { visibility: 'commit' })).toBe('one');
    expect(await dequeuer.listen(['KSUB_1'], 0)).toBe('KSUB_1');
    expect(await dequeuer.dequeue('KSUB_1')).toBeUndefined();
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ dequeuedNothing: 1, dequeued: 0 });
    await other.rollback();
    expect(await dequeuer.dequeue('KSUB_1')).toBe('one');
    await enqueuer.enqueue('two', 'KSUB_1');
    expect(await other.dequeue('KSUB_1', { visibility: 'commit' })).toBe('two');
    await other.commit();
    await expect(dequeuer.listen(['KSUB_1'], 0)).rejects.toThrow(code('LISTEN_TIMEOUT'));
  });

  it.each([
    ['a sharded topic', {}],
    ['an unsharded topic', { kind: 'unsharded' }],
    ['an unsharded topic with temporary subscribers', { kind: 'unsharded', temporarySubscribers: true }],
  ] as const)('is not told of a message that a retry limit has moved away from %s', async (_, spec) => {
    const { shared, instance, enqueuer, dequeuer } = await openPair(
      'temporarySubscribers' in spec ? [] : ['KSUB_1'],
      {},
      { durability: 'relaxed', attemptsMax: 2, ...spec },
    );
    await enqueuer.enqueue('one', 'KSUB_1');
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      expect(await dequeuer.dequeue('KSUB_1', { visibility: 'commit' })).toBe('one');
      await dequeuer.rollback();
    }
    await expect.poll(() => shared.statistics().subscribers[0]).toMatchObject({ name: 'KSUB_1', ready: 0 });
    await expect
      .poll(async () => (await instance.browse('news.exceptions', { limit: 10 })).messages.length)
      .toBe(1);
    await expect(dequeuer.listen(['KSUB_1'], 0)).rejects.toThrow(code('LISTEN_TIMEOUT'));
    await enqueuer.enqueue('two', 'KSUB_1');
    expect(await dequeuer.listen(['KSUB_1'], 0)).toBe('KSUB_1');
    expect(await dequeuer.dequeue('KSUB_1')).toBe('two');
    expect(shared.statistics().subscribers[0]).toMatchObject({ ready: 0 });
  });

  it('is woken by a rollback, which makes its message ready again', async () => {
    const { shared, enqueuer, dequeuer } = await openPair();
    const other = await SessionThread.open(shared);
    await enqueuer.enqueue('one', 'KSUB_1');
    await other.dequeue('KSUB_1', { visibility: 'commit' });
    const waiting = dequeuer.dequeue('KSUB_1', { waitMs: 60_000 });
    await whenIn(shared, dequeuer, 'waiting');
    await other.rollback();
    expect(await waiting).toBe('one');
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ messageWakeUps: 1, dequeuedNothing: 1 });
  });

  it('is woken by the commit of the transaction that enqueues, not before', async () => {
    const { shared, enqueuer, dequeuer } = await openPair();
    const listening = dequeuer.listen(['KSUB_1'], 60_000);
    await whenIn(shared, dequeuer, 'listening');
    await enqueuer.enqueue('one', 'KSUB_1', { visibility: 'commit' });
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ wakeUps: 0, state: 'listening' });
    await enqueuer.commit();
    expect(await listening).toBe('KSUB_1');
    await enqueuer.enqueue('two', 'KSUB_1', { visibility: 'commit' });
    await enqueuer.rollback();
    expect(shared.statistics().subscribers[0]).toMatchObject({ name: 'KSUB_1', ready: 1 });
  });
});

describe('a trace of one enqueue', () => {
  it('shows which sessions were woken and found nothing, which one got the message, and each get', async () => {
    const { shared, enqueuer, dequeuer, counts } = await openPair(['KSUB_1', 'KSUB_2'], {
      traceEventsMax: 64,
    });
    const other = await SessionThread.open(shared);
    const listening = [dequeuer.listen(['KSUB_1'], 60_000), other.listen(['KSUB_2'], 60_000)];
    for (const thread of [dequeuer, other]) await whenIn(shared, thread, 'listening');
    await enqueuer.enqueue('one', 'KSUB_1');
    await listening[0];
    await dequeuer.dequeue('KSUB_1');
    await whenFalselyWoken(shared, other, 1);
    const events = shared.trace();
    const kindsOf = ({ id }: SessionThread) =>
      events
        .filter(({ session, kind }) => session === id && kind !== 'mutex' && kind !== 'latch')
        .map(({ kind }) => kind);
    expect(kindsOf(enqueuer)).toEqual(['posted']);
    expect(kindsOf(dequeuer)).toEqual(['woken', 'found', 'dequeued']);
    expect(kindsOf(other)).toEqual(['woken', 'found nothing']);
    const ofDequeuer = events.filter(({ session }) => session === dequeuer.id);
    expect(ofDequeuer.filter(({ kind }) => kind === 'mutex')).toHaveLength(counts().mutex);
    expect(ofDequeuer.filter(({ kind }) => kind === 'latch')).toHaveLength(counts().latch);
    for (const { calledMs, gotMs, endedMs } of events) {
      expect(gotMs).toBeGreaterThanOrEqual(calledMs);
      expect(endedMs).toBeGreaterThanOrEqual(gotMs);
    }
  });
});

describe('a dequeue by name', () => {
  it('waits in the list of its subscriber: only messages for that wake it, and it takes no latch', async () => {
    const { shared, enqueuer, dequeuer, counts } = await openPair();
    const waiting = dequeuer.dequeue('KSUB_1', { waitMs: 60_000 });
    await whenIn(shared, dequeuer, 'waiting');
    expect(counts()).toEqual({ lock: 0, pin: 1, latch: 0, mutex: 5 });
    await enqueuer.enqueue('other', 'KSUB_31');
    await enqueuer.enqueue('one', 'KSUB_1');
    expect(await waiting).toBe('one');
    expect(counts()).toEqual({ lock: 0, pin: 2, latch: 0, mutex: 11 });
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ messageWakeUps: 1, wakeUps: 0 });
  });

  it('polls every three seconds, and each poll takes a pin', async () => {
    const { shared, dequeuer, counts } = await openPair();
    expect(await dequeuer.dequeue('KSUB_1', { waitMs: 3_100 })).toBeUndefined();
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ polls: 2, messageWakeUps: 0, dequeueSleeps: 2 });
    expect(counts()).toEqual({ lock: 0, pin: 3, latch: 0, mutex: 15 });
  });

  it('returns nothing when its time is over', async () => {
    const { shared, dequeuer } = await openPair();
    expect(await dequeuer.dequeue('KSUB_1', { waitMs: 50 })).toBeUndefined();
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ polls: 1, state: 'open' });
  });
});
