import {
  type Message,
  payloadRead,
  type Session,
  type SessionTime,
  waitingForMessages,
} from '@shardlab/engine';
import type { Ledger, OrderCheck } from '../../../integrity/ledger.ts';
import type { PayloadIdentity } from '../../../integrity/payload.ts';
import { retryPause } from '../../../meters/load-waits.ts';
import { type ApplicationRows, openRows } from './application-rows.ts';
import type { DequeueSource } from './layout.ts';
import type { Workload } from './workload.ts';

/** How long a dequeue waits for a message before the session commits what it has and dequeues again. */
const idleWaitMs = 100;
/** The same once no further message can arrive: only a backlog may still be read. */
const sealedWaitMs = 10;

/**
 * One dequeuer session in a closed loop: collects the operations of a transaction, then commits. With round trips every
 * dequeue takes one message, and each call first waits a round trip; without, one call takes as many as it gets.
 */
export async function runDequeuer(
  work: Workload,
  { sourceIndex, number }: { sourceIndex: number; number: number },
): Promise<void> {
  const session = work.host.openSession();
  const time = work.host.timeOf(session);
  work.nameSession(time, 'dequeuer', sourceIndex * work.config.dequeuers + number);
  const taker: DequeuerState = {
    session,
    time,
    number,
    rows: openRows(work, session, time),
    sourceIndex,
    source: work.config.layout.dequeueSources[sourceIndex]!,
    ledger: work.ledgers[sourceIndex]!,
    order: work.orderOfDequeuer(sourceIndex),
  };
  time.resume();
  while (!work.drainOver) {
    let isEmpty = false;
    try {
      isEmpty = await transact(work, taker);
      time.resume();
    } catch (error) {
      time.resume();
      await time.suspend(work.rollbackIfTransient(session, error), retryPause);
      time.resume();
    }
    if (isEmpty && work.isSealed) {
      const isOver = await time.suspend(work.isDrained(sourceIndex));
      time.resume();
      if (isOver) break;
    }
    if (work.isTurnDue) {
      await time.yield(work.yieldToEventLoop());
      time.resume();
    }
  }
  await taker.rows?.close();
  await session.close();
  time.close();
}

interface DequeuerState {
  session: Session;
  time: SessionTime;
  /** Among the dequeuers of its source in this process. */
  number: number;
  sourceIndex: number;
  /** Undefined if no rows are inserted. */
  rows: ApplicationRows | undefined;
  source: DequeueSource;
  ledger: Ledger;
  order: OrderCheck;
}

/** Runs one transaction. Returns whether its last dequeue returned no message. The caller resumes the session's time. */
async function transact(work: Workload, taker: DequeuerState): Promise<boolean> {
  const { config, meter, gate, roundTrips, host } = work;
  const { session, time, ledger, rows } = taker;
  const { operationsPerTransaction: operations } = config;
  const identities: PayloadIdentity[] = [];
  let messages = 0;
  let isEmpty = false;
  while (messages < operations && !work.drainOver && !isEmpty) {
    if (roundTrips !== null) {
      await roundTrips.wait(time);
      time.resume();
    }
    const calledAtMs = work.clock();
    const max = roundTrips === null ? operations - messages : 1;
    const { messages: batch, atMs } = await dequeue(work, taker, { max, calledAtMs });
    time.resume();
    isEmpty = batch.length === 0;
    const first = identities.length;
    if (work.streams === null) checkBatch(work, taker, { batch, calledAtMs, atMs, identities });
    else {
      await readStreamedBatch(work, taker, batch, identities);
      time.resume();
    }
    if (batch.some(({ deliveryCount }) => deliveryCount > 1))
      ledger.checkRedelivered(identities.slice(first));
    messages += batch.length;
  }
  if (messages > 0) {
    if (rows !== undefined) {
      await rows.write(identities);
      time.resume();
    }
    if (roundTrips !== null) {
      await roundTrips.wait(time);
      time.resume();
    }
    work.book?.consuming(taker.sourceIndex, taker.number, identities);
    const committingAtMs = work.clock();
    await time.suspend(session.commit(), host.eventOfCalls);
    time.resume();
    const now = work.clock();
    work.book?.consumed(taker.sourceIndex, taker.number);
    meter.consumed += messages;
    meter.recordCommit(now - committingAtMs);
    meter.gaps.recordCommit(now);
    for (const identity of identities) ledger.recordConsumed(identity);
    gate.consumed(messages / config.layout.dequeueSources.length);
  }
  return time.yield(isEmpty); // the caller's turn comes after those of sessions that were resumed with this one
}

/** Records the whole batch synchronously; otherwise the batches of several dequeuers would interleave. */
function checkBatch(
  { meter }: Workload,
  { ledger, order }: DequeuerState,
  {
    batch,
    calledAtMs,
    atMs,
    identities,
  }: { batch: readonly Message[]; calledAtMs: number; atMs: number; identities: PayloadIdentity[] },
): void {
  const call = { fromMs: calledAtMs, toMs: atMs };
  // The messages of one transaction have the same latency, and follow each other.
  let sentAtMs = 0;
  let count = 0;
  for (const message of batch) {
    const identity = ledger.recordDelivery(message, order, call);
    if (identity === null) continue;
    if (identity.sentAtMs !== sentAtMs) {
      if (count > 0) meter.recordLatency(atMs - sentAtMs, count);
      sentAtMs = identity.sentAtMs;
      count = 0;
    }
    count += 1;
    identities.push(identity);
  }
  if (count > 0) meter.recordLatency(atMs - sentAtMs, count);
}

/** Reads messages with streamed payloads, each of which counts as delivered once it was read completely. */
async function readStreamedBatch(
  { clock, meter, streams, host }: Workload,
  { time, ledger, order }: DequeuerState,
  batch: readonly Message[],
  identities: PayloadIdentity[],
): Promise<void> {
  const reading = { time, event: host.eventOfCalls ?? payloadRead };
  for (const message of batch) {
    const identity = await streams!.check(message.payloadStream(), reading);
    time.resume();
    ledger.recordCheckedDelivery(identity, message.deliveryCount, order);
    if (identity === null) continue;
    meter.recordLatency(clock() - identity.sentAtMs);
    identities.push(identity);
  }
  time.yield(undefined);
}

interface Batch {
  messages: Message[];
  /** When the call returned. */
  atMs: number;
}

/**
 * One dequeue. It first dequeues without waiting, so that the time of a call that found ready messages is separate from
 * the wait for new messages; only the former is recorded as the time of a dequeue call. The caller resumes the session's time.
 */
async function dequeue(
  work: Workload,
  { session, time, source }: DequeuerState,
  { max, calledAtMs }: { max: number; calledAtMs: number },
): Promise<Batch> {
  const { clock, meter, host } = work;
  const { queue, subscriber } = source;
  const options = subscriber === undefined ? { max } : { max, subscriber };
  const ready = await time.suspend(session.dequeue(queue, { ...options, waitMs: 0 }), host.eventOfCalls);
  time.resume();
  if (ready.length > 0) {
    const atMs = clock();
    meter.recordDequeueCall(atMs - calledAtMs);
    return time.yield({ messages: ready, atMs });
  }
  const event = host.eventOfCalls === undefined ? undefined : waitingForMessages;
  const wait = work.isSealed
    ? { ...options, waitMs: sealedWaitMs }
    : { ...options, waitMs: idleWaitMs, signal: work.sealSignal };
  const messages = await time.suspend(session.dequeue(queue, wait), event);
  return { messages, atMs: clock() };
}
