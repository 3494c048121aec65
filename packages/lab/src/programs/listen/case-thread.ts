/** A thread with one session, which makes the calls of a case and checks every payload. */
import { parentPort, workerData } from 'node:worker_threads';
import type { SharedDequeueOptions, SharedQueueHandle } from '@shardlab/engine';
import { openThreadSession } from '@shardlab/engine/thread-session';
import { DeliveryOrder, Ledger } from '../../integrity/ledger.ts';
import { PayloadCodec } from '../../integrity/payload.ts';

export interface CaseThreadJob {
  handle: SharedQueueHandle;
  payloadBytes: number;
  seed: number;
  nonce: number;
}

export type CaseCall =
  | { call: 'enqueue'; subscriber: string }
  | { call: 'listen'; subscriber: string; waitMs: number }
  | { call: 'dequeue'; subscriber: string; options: SharedDequeueOptions }
  | { call: 'commit' }
  | { call: 'finish' };

export type CaseAnswer = { value: unknown } | { error: { code: string | undefined; message: string } };

const { handle, payloadBytes, seed, nonce } = workerData as CaseThreadJob;
const codec = new PayloadCodec({ bytes: payloadBytes, seed, nonce });
const ledger = new Ledger(codec);
const order = new DeliveryOrder();
const session = await openThreadSession(handle);
/** Sequence number of this session's messages: a case has one enqueuer. */
let sequence = 0;
let uncommitted: ReturnType<Ledger['recordDelivery']>[] = [];

async function enqueue(subscriber: string): Promise<void> {
  const payload = codec.make({ enqueuer: 0, sequence, sentAtMs: performance.now() });
  await session.enqueue(
    { payload, recipients: [subscriber], correlationId: subscriber },
    { visibility: 'immediate' },
  );
  sequence += 1;
  ledger.recordCommitted(0, sequence);
}

async function dequeue(subscriber: string, options: SharedDequeueOptions): Promise<boolean> {
  const message = await session.dequeue(subscriber, options);
  if (message === undefined) return false;
  uncommitted.push(ledger.recordDelivery(message, order));
  if (options.visibility === 'immediate') consumed();
  return true;
}

function consumed(): void {
  for (const identity of uncommitted) if (identity !== null) ledger.recordConsumed(identity);
  uncommitted = [];
}

async function answer(call: CaseCall): Promise<unknown> {
  switch (call.call) {
    case 'enqueue':
      return await enqueue(call.subscriber);
    case 'listen':
      return await session.listen([call.subscriber], call.waitMs);
    case 'dequeue':
      return await dequeue(call.subscriber, call.options);
    case 'commit':
      await session.commit();
      return consumed();
    case 'finish':
      await session.close();
      return ledger.report();
  }
}

const send = (message: CaseAnswer) => parentPort!.postMessage(message);
parentPort!.on('message', (call: CaseCall) => {
  answer(call).then(
    (value) => send({ value }),
    ({ code, message }: Error & { code?: string }) => send({ error: { code, message } }),
  );
});
send({ value: session.id });
