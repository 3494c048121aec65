/** A thread of the program `listen`: the session of one dequeuer, or the sessions of several enqueuers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Message, ThreadSession } from '@shardlab/engine';
import { openThreadSession } from '@shardlab/engine/thread-session';
import { DeliveryOrder, Ledger } from '../../integrity/ledger.ts';
import { PayloadCodec } from '../../integrity/payload.ts';
import { consumedAt, type FromThread, phaseAt, phases, subscriberOf, type ThreadJob } from './listen-job.ts';

const { handle, control, role, pairs, params, seed, nonce } = workerData as ThreadJob;
const { method, payloadBytes, enqueuePauseMs } = params;
const words = new Int32Array(control);
const codec = new PayloadCodec({ bytes: payloadBytes, seed, nonce });
const ledger = new Ledger(codec);
const send = (message: FromThread) => parentPort!.postMessage(message);
/** Wait time of the document's dequeuers. */
const waitMs = 10_000;
/** How often an enqueuer looks whether its message was consumed. */
const lookMs = 1;

const hasCode = (error: unknown, code: string) => (error as { code?: unknown }).code === code;

async function enqueueAll(session: ThreadSession, pair: number): Promise<void> {
  const subscriber = subscriberOf(pair);
  for (let sequence = 0; Atomics.load(words, phaseAt) < phases.drain; ) {
    await sleep(enqueuePauseMs);
    if (Atomics.load(words, consumedAt + pair) < sequence) {
      await sleep(lookMs);
      continue;
    }
    const payload = codec.make({ enqueuer: pair, sequence, sentAtMs: performance.now() });
    const message = { payload, recipients: [subscriber], correlationId: subscriber };
    await session.enqueue(message, { visibility: 'immediate' });
    sequence += 1;
    ledger.recordCommitted(pair, sequence);
  }
}

async function dequeueAll(session: ThreadSession, pair: number): Promise<void> {
  const order = new DeliveryOrder();
  const subscriber = subscriberOf(pair);
  for (;;) {
    let message: Message | undefined;
    try {
      message = await dequeueOne(session, subscriber);
    } catch (error) {
      if (hasCode(error, 'INSTANCE_CLOSED')) return;
      throw error;
    }
    if (message === undefined) continue;
    const identity = ledger.recordDelivery(message, order);
    if (identity !== null) ledger.recordConsumed(identity);
    Atomics.add(words, consumedAt + pair, 1);
  }
}

async function dequeueOne(session: ThreadSession, subscriber: string): Promise<Message | undefined> {
  if (method === 'subscriber') return await session.dequeue(subscriber, { waitMs, visibility: 'immediate' });
  try {
    return await session.dequeue(await session.listen([subscriber], waitMs), { visibility: 'immediate' });
  } catch (error) {
    if (hasCode(error, 'LISTEN_TIMEOUT')) return undefined;
    throw error;
  }
}

async function run(): Promise<void> {
  const sessions = await Promise.all(pairs.map(() => openThreadSession(handle)));
  send({ type: 'ready', sessions: sessions.map(({ id }) => id) });
  Atomics.wait(words, phaseAt, phases.prepare);
  const work = role === 'enqueue' ? enqueueAll : dequeueAll;
  await Promise.all(sessions.map((session, index) => work(session, pairs[index]!)));
  await Promise.all(sessions.map((session) => session.close()));
  send({ type: 'done', ledger: ledger.report() });
}

run().catch((error: Error & { code?: string }) => {
  send({ type: 'failed', code: error.code, message: error.message, stack: error.stack });
});
