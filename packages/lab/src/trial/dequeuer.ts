import type { Message, Session } from '@shardlab/engine';
import { type ApplicationRows, rowsOf } from './application-rows.ts';
import type { Outlet } from './layout.ts';
import type { HandOutOrder, Ledger } from './ledger.ts';
import type { PayloadIdentity } from './payload.ts';
import type { Workload } from './workload.ts';

/** How long a dequeue waits for a message before the session commits what it has and asks again. */
const idleWaitMs = 100;
/** The same once no message can come any more: only for a backlog that is still being read. */
const sealedWaitMs = 10;

/**
 * One dequeuer session of one outlet in a closed loop: collects the workload's operations, then commits. With round
 * trips every dequeue takes one message and waits a round trip first, as does the commit; without, one call takes what
 * it gets.
 */
export async function runDequeuer(work: Workload, outletNo: number): Promise<void> {
  const session = work.host.openSession();
  const taker: Taker = {
    session,
    rows: rowsOf(work, session),
    outletNo,
    outlet: work.config.layout.outlets[outletNo]!,
    ledger: work.ledgers[outletNo]!,
    order: work.orderOfDequeuer(outletNo),
  };
  while (!work.drainOver) {
    try {
      if (!(await transact(work, taker))) break;
    } catch (error) {
      await work.outlive(session, error);
    }
    await work.breathe();
  }
  await taker.rows?.close();
  await session.close();
}

/** One transaction. Returns false when no message will come any more. */
async function transact(work: Workload, taker: Taker): Promise<boolean> {
  const { config, meter, gate, roundTrips } = work;
  const { session, ledger, rows } = taker;
  const { identities, messages, empty } = await collect(work, taker);
  if (messages > 0) {
    await rows?.stage(identities);
    await roundTrips?.wait();
    await session.commit();
    meter.consumed += messages;
    meter.gaps.committed();
    for (const identity of identities) ledger.consumed(identity);
    gate.consumed(messages / config.layout.outlets.length);
  }
  return !(empty && work.isSealed && (await work.isDrained(taker.outletNo)));
}

interface Taker {
  session: Session;
  /** Undefined where no rows are kept. */
  rows: ApplicationRows | undefined;
  outletNo: number;
  outlet: Outlet;
  ledger: Ledger;
  order: HandOutOrder;
}

interface Collected {
  identities: PayloadIdentity[];
  /** Damaged ones included, which have no identity. */
  messages: number;
  /** The last call found nothing. */
  empty: boolean;
}

async function collect(work: Workload, taker: Taker): Promise<Collected> {
  const { config, roundTrips } = work;
  const { operationsPerTransaction: operations } = config;
  const identities: PayloadIdentity[] = [];
  let messages = 0;
  while (messages < operations && !work.drainOver) {
    await roundTrips?.wait();
    const max = roundTrips === null ? operations - messages : 1;
    const batch = await dequeue(work, taker, max);
    if (batch.length === 0) return { identities, messages, empty: true };
    identities.push(
      ...(work.streams === null ? checked(work, taker, batch) : await read(work, taker, batch)),
    );
    messages += batch.length;
  }
  return { identities, messages, empty: false };
}

/** All in one go: dequeuers that take turns within their batches would see the messages of others between their own. */
function checked(
  { clock, meter }: Workload,
  { ledger, order }: Taker,
  batch: readonly Message[],
): PayloadIdentity[] {
  const now = clock();
  const identities: PayloadIdentity[] = [];
  for (const message of batch) {
    const identity = ledger.handedOut(message, order);
    if (identity === null) continue;
    meter.latency(now - identity.sentAtMs);
    identities.push(identity);
  }
  return identities;
}

/** Payloads that are streamed: each is there once it was read to its end. */
async function read(
  { clock, meter, streams }: Workload,
  { ledger, order }: Taker,
  batch: readonly Message[],
): Promise<PayloadIdentity[]> {
  const identities: PayloadIdentity[] = [];
  for (const message of batch) {
    const identity = await streams!.check(message.payloadStream() as AsyncIterable<Buffer>);
    ledger.noteHandOut(identity, message.deliveryCount, order);
    if (identity === null) continue;
    meter.latency(clock() - identity.sentAtMs);
    identities.push(identity);
  }
  return identities;
}

/**
 * One dequeue of the client. It first asks without waiting, so that the time of a call that found messages ready can be
 * told from the wait for a message to come; only the former is the dequeue call's figure.
 */
async function dequeue(work: Workload, { session, outlet }: Taker, max: number): Promise<Message[]> {
  const { clock, meter } = work;
  const { queue, subscriber } = outlet;
  const options = subscriber === undefined ? { max } : { max, subscriber };
  const start = clock();
  const ready = await session.dequeue(queue, { ...options, waitMs: 0 });
  if (ready.length > 0) {
    meter.dequeueCall(clock() - start);
    return ready;
  }
  if (work.isSealed) return session.dequeue(queue, { ...options, waitMs: sealedWaitMs });
  return session.dequeue(queue, { ...options, waitMs: idleWaitMs, signal: work.sealSignal });
}
