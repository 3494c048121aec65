import type { Message, Session } from '@shardlab/engine';
import { type ApplicationRows, openRows } from './application-rows.ts';
import type { DequeueSource } from './layout.ts';
import type { Ledger, OrderCheck } from './ledger.ts';
import type { PayloadIdentity } from './payload.ts';
import type { Workload } from './workload.ts';

/** How long a dequeue waits for a message before the session commits what it has and dequeues again. */
const idleWaitMs = 100;
/** The same once no message can arrive any more: only a backlog may still be read. */
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
  const taker: DequeuerState = {
    session,
    number,
    rows: openRows(work, session),
    sourceIndex: sourceIndex,
    source: work.config.layout.dequeueSources[sourceIndex]!,
    ledger: work.ledgers[sourceIndex]!,
    order: work.orderOfDequeuer(sourceIndex),
  };
  while (!work.drainOver) {
    try {
      if (!(await transact(work, taker))) break;
    } catch (error) {
      await work.rollbackIfTransient(session, error);
    }
    await work.yieldToEventLoop();
  }
  await taker.rows?.close();
  await session.close();
}

/** Runs one transaction. Returns false when no message can arrive any more. */
async function transact(work: Workload, taker: DequeuerState): Promise<boolean> {
  const { config, meter, gate, roundTrips } = work;
  const { session, ledger, rows } = taker;
  const { identities, messages, empty } = await collect(work, taker);
  if (messages > 0) {
    await rows?.write(identities);
    await roundTrips?.wait();
    work.book?.consuming(taker.sourceIndex, taker.number, identities);
    await session.commit();
    work.book?.consumed(taker.sourceIndex, taker.number);
    meter.consumed += messages;
    meter.gaps.recordCommit();
    for (const identity of identities) ledger.recordConsumed(identity);
    gate.consumed(messages / config.layout.dequeueSources.length);
  }
  return !(empty && work.isSealed && (await work.isDrained(taker.sourceIndex)));
}

interface DequeuerState {
  session: Session;
  /** Among the dequeuers of its source in this process. */
  number: number;
  /** Undefined if no rows are inserted. */
  rows: ApplicationRows | undefined;
  sourceIndex: number;
  source: DequeueSource;
  ledger: Ledger;
  order: OrderCheck;
}

interface Collected {
  identities: PayloadIdentity[];
  /** Number of messages, including damaged ones, which have no identity. */
  messages: number;
  /** Whether the last call returned no message. */
  empty: boolean;
}

async function collect(work: Workload, taker: DequeuerState): Promise<Collected> {
  const { config, roundTrips } = work;
  const { operationsPerTransaction: operations } = config;
  const identities: PayloadIdentity[] = [];
  let messages = 0;
  while (messages < operations && !work.drainOver) {
    await roundTrips?.wait();
    const max = roundTrips === null ? operations - messages : 1;
    const calledAtMs = work.clock();
    const batch = await dequeue(work, taker, max);
    if (batch.length === 0) return { identities, messages, empty: true };
    const checked =
      work.streams === null
        ? checkBatch(work, taker, { batch, calledAtMs })
        : await readStreamedBatch(work, taker, batch);
    if (batch.some(({ deliveryCount }) => deliveryCount > 1)) taker.ledger.checkRedelivered(checked);
    identities.push(...checked);
    messages += batch.length;
  }
  return { identities, messages, empty: false };
}

/** Records the whole batch synchronously; otherwise the batches of several dequeuers would interleave. */
function checkBatch(
  { clock, meter }: Workload,
  { ledger, order }: DequeuerState,
  { batch, calledAtMs }: { batch: readonly Message[]; calledAtMs: number },
): PayloadIdentity[] {
  const now = clock();
  const call = { fromMs: calledAtMs, toMs: now };
  const identities: PayloadIdentity[] = [];
  for (const message of batch) {
    const identity = ledger.recordDelivery(message, order, call);
    if (identity === null) continue;
    meter.recordLatency(now - identity.sentAtMs);
    identities.push(identity);
  }
  return identities;
}

/** For streamed payloads, each of which counts as delivered once it was read completely. */
async function readStreamedBatch(
  { clock, meter, streams }: Workload,
  { ledger, order }: DequeuerState,
  batch: readonly Message[],
): Promise<PayloadIdentity[]> {
  const identities: PayloadIdentity[] = [];
  for (const message of batch) {
    const identity = await streams!.check(message.payloadStream());
    ledger.recordCheckedDelivery(identity, message.deliveryCount, order);
    if (identity === null) continue;
    meter.recordLatency(clock() - identity.sentAtMs);
    identities.push(identity);
  }
  return identities;
}

/**
 * One dequeue. It first dequeues without waiting, so that the time of a call that found ready messages is separate from
 * the wait for new messages; only the former is recorded as the time of a dequeue call.
 */
async function dequeue(work: Workload, { session, source }: DequeuerState, max: number): Promise<Message[]> {
  const { clock, meter } = work;
  const { queue, subscriber } = source;
  const options = subscriber === undefined ? { max } : { max, subscriber };
  const start = clock();
  const ready = await session.dequeue(queue, { ...options, waitMs: 0 });
  if (ready.length > 0) {
    meter.recordDequeueCall(clock() - start);
    return ready;
  }
  if (work.isSealed) return session.dequeue(queue, { ...options, waitMs: sealedWaitMs });
  return session.dequeue(queue, { ...options, waitMs: idleWaitMs, signal: work.sealSignal });
}
