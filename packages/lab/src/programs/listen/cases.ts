/**
 * The cases of the program `listen-cases`: what two or three sessions do, one step after the other, and what is read between the
 * steps. The document's cases 1 to 4 are the first four.
 */
import type { Instance, SharedQueue, ThreadSessionStatistics } from '@shardlab/engine';
import type { CaseThread } from './case-threads.ts';
import { queueName, subscriberOf } from './listen-job.ts';

export const caseNames = [
  'message-there',
  'message-comes',
  'message-for-another',
  'time-out',
  'ten-listens',
  'ten-dequeues-by-name',
  'uncommitted-dequeue',
  'idle-polls',
  'unknown-recipients',
] as const;
export type CaseName = (typeof caseNames)[number];

/** Recipients of the last case, and the subscribers that the topic can have: as in the document. */
export const unknownRecipients = 1_035;
/** Times of the idle waits: whole numbers of polls. */
export const listenIdleMs = 3_000;
export const dequeueIdleMs = 6_000;
const timeOutMs = 100;
const waitMs = 60_000;
const own = subscriberOf(0);
const others = subscriberOf(30);

export interface CaseContext {
  instance: Instance;
  shared: SharedQueue;
  /** The session whose gets are counted. */
  dequeuer: CaseThread;
  enqueuer: CaseThread;
  /** A second dequeuer. */
  other: CaseThread;
}

export type CaseFigures = Record<string, number>;

const statisticsOf = ({ shared, dequeuer }: CaseContext): ThreadSessionStatistics =>
  shared.statistics().sessions.find(({ session }) => session === dequeuer.session)!;

/** The four counts so far; `stage` is `waiting`, `woken` or, at the end, nothing. */
function countsAt(context: CaseContext, stage: 'waiting' | 'woken' | ''): CaseFigures {
  const { locks, pins, latch, mutex } = statisticsOf(context);
  const counts = { locks, pins, latchGets: latch.gets, mutexGets: mutex.gets };
  const named = (name: string) => (stage === '' ? name : `${stage}${name[0]!.toUpperCase()}${name.slice(1)}`);
  return Object.fromEntries(Object.entries(counts).map(([name, value]) => [named(name), value]));
}

async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await new Promise((resume) => setTimeout(resume, 1));
}

const isListening = (context: CaseContext) => () => statisticsOf(context).state === 'listening';

/** Begins to listen; the caller handles a failure of the returned call later. */
async function beginToListen(context: CaseContext, forMs: number) {
  const listening = context.dequeuer.listen(own, forMs);
  listening.catch(() => undefined);
  await until(isListening(context));
  return { listening };
}

const runs: Record<CaseName, (context: CaseContext) => Promise<CaseFigures>> = {
  async 'message-there'(context) {
    await context.enqueuer.enqueue(own);
    await context.dequeuer.listen(own, waitMs);
    await context.dequeuer.dequeue(own);
    return countsAt(context, '');
  },

  async 'message-comes'(context) {
    const { listening } = await beginToListen(context, waitMs);
    const waiting = countsAt(context, 'waiting');
    await context.enqueuer.enqueue(own);
    await listening;
    await context.dequeuer.dequeue(own);
    return { ...waiting, ...countsAt(context, '') };
  },

  async 'message-for-another'(context) {
    const { listening } = await beginToListen(context, waitMs);
    const waiting = countsAt(context, 'waiting');
    await context.enqueuer.enqueue(others);
    await until(() => statisticsOf(context).falseWakeUps > 0 && isListening(context)());
    const woken = countsAt(context, 'woken');
    await context.enqueuer.enqueue(own);
    await listening;
    await context.dequeuer.dequeue(own);
    const { falseWakeUps } = statisticsOf(context);
    await context.other.dequeue(others);
    return { ...waiting, ...woken, ...countsAt(context, ''), falseWakeUps };
  },

  async 'time-out'(context) {
    const { listening } = await beginToListen(context, timeOutMs);
    const waiting = countsAt(context, 'waiting');
    const timedOut = await listening.then(
      () => 0,
      ({ code }: { code?: string }) => (code === 'LISTEN_TIMEOUT' ? 1 : 0),
    );
    return { ...waiting, ...countsAt(context, ''), timedOut };
  },

  async 'ten-listens'(context) {
    for (let each = 0; each < 10; each += 1) await context.enqueuer.enqueue(own);
    for (let each = 0; each < 10; each += 1) {
      await context.dequeuer.listen(own, waitMs);
      await context.dequeuer.dequeue(own);
    }
    return countsAt(context, '');
  },

  async 'ten-dequeues-by-name'(context) {
    for (let each = 0; each < 10; each += 1) await context.enqueuer.enqueue(own);
    for (let each = 0; each < 10; each += 1) await context.dequeuer.dequeue(own);
    return countsAt(context, '');
  },

  async 'uncommitted-dequeue'(context) {
    await context.enqueuer.enqueue(own);
    await context.other.dequeue(own, { visibility: 'commit' });
    const told = await context.dequeuer.listen(own, 0).then(
      () => 1,
      () => 0,
    );
    await context.dequeuer.dequeue(own);
    const { dequeuedNothing } = statisticsOf(context);
    await context.other.commit();
    return { told, dequeuedNothing };
  },

  async 'idle-polls'(context) {
    const before = statisticsOf(context);
    await context.dequeuer.listen(own, listenIdleMs).catch(() => undefined);
    const between = statisticsOf(context);
    await context.dequeuer.dequeue(own, { waitMs: dequeueIdleMs });
    const after = statisticsOf(context);
    // From poll to poll: asleep, and then woken without a core.
    const forACoreMs = ({ runnableMs, preemptedMs }: ThreadSessionStatistics) => runnableMs - preemptedMs;
    const listenMs = between.listenMs + forACoreMs(between) - forACoreMs(before);
    const dequeueMs = after.dequeueMs + forACoreMs(after) - forACoreMs(between);
    return {
      listenPollMs: listenMs / between.listenSleeps,
      dequeuePollMs: dequeueMs / after.dequeueSleeps,
    };
  },

  async 'unknown-recipients'(context) {
    const { enqueuer, dequeuer, shared } = context;
    for (let each = 1; each <= unknownRecipients; each += 1) {
      const subscriber = `KSUB_999${each}`;
      await enqueuer.enqueue(subscriber);
      await dequeuer.listen(subscriber, waitMs);
      await dequeuer.dequeue(subscriber);
    }
    const { subscribers, temporaryMade } = shared.statistics();
    const temporaryKept = subscribers.filter(({ temporary }) => temporary).length;
    return { temporaryMade, temporaryKept, subscribersRefused: await refusedPastLimit(context) };
  },
};

/** Asks for one more subscriber than there is room for: 1 if it is refused as by ORA-24067. */
function refusedPastLimit({ instance }: CaseContext): Promise<number> {
  return instance.subscribe(queueName, { name: own }).then(
    () => 0,
    ({ code }: { code?: string }) => (code === 'SUBSCRIBERS_FULL' ? 1 : 0),
  );
}

export const runCase = (name: CaseName, context: CaseContext): Promise<CaseFigures> => runs[name](context);

/** The subscribers that the topic has at the start: none if the case needs unknown recipients. */
export const subscribersOf = (name: CaseName): string[] =>
  name === 'unknown-recipients' ? [] : [own, others];
