/** A thread of the program `pipelining`: one subscriber's consumer, or all producers, each over a connection of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { connect, type Producer, type RemoteInstance } from '@shardlab/engine';
import { DeliveryOrder, Ledger } from '../../trial/ledger.ts';
import { PayloadCodec } from '../../trial/payload.ts';
import {
  type FromThread,
  nowMs,
  phaseAt,
  phases,
  sentAt,
  sliceMs,
  subscriberOf,
  type ThreadJob,
  topicName,
} from './pipelining-job.ts';
import { configurations } from './pipelining-params.ts';

const { path, control, role, params, seed, nonce } = workerData as ThreadJob;
const { configuration, payloadBytes, windowMessages, messagesMaximum } = params;
const words = new Int32Array(control);
const codec = new PayloadCodec({ bytes: payloadBytes, seed, nonce });
const ledger = new Ledger(codec);
const send = (message: FromThread) => parentPort!.postMessage(message);
const has = (each: (typeof configurations)[number]) =>
  configurations.indexOf(configuration) >= configurations.indexOf(each);
const isRunning = () => Atomics.load(words, phaseAt) === phases.run;

/** After a refusal without quotas. */
const retryMs = 10;
const blockMs = 30_000;
const receiveMs = 200;

const counts = { startedAtMs: nowMs(), messages: [] as number[], waitedMs: [] as number[] };
let refused = 0;

function count(fromMs: number): void {
  const at = nowMs();
  const slice = Math.floor((at - counts.startedAtMs) / sliceMs);
  while (counts.messages.length <= slice) {
    counts.messages.push(0);
    counts.waitedMs.push(0);
  }
  counts.messages[slice]! += 1;
  counts.waitedMs[slice]! += at - fromMs;
}

const isRefusal = (error: unknown) =>
  ['ENQUEUE_RATE_TOO_HIGH', 'BACKLOG_FULL'].includes((error as { code: string }).code);

async function produce(producer: Producer, enqueuer: number): Promise<void> {
  let sequence = 0;
  while (isRunning()) {
    const fromMs = nowMs();
    const payload = codec.make({ enqueuer, sequence, sentAtMs: performance.now() });
    try {
      await producer.send({ payload });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refused += 1;
      await sleep(retryMs);
      continue;
    }
    sequence += 1;
    count(fromMs);
  }
  await producer.close();
  ledger.recordCommitted(enqueuer, sequence);
  Atomics.add(words, sentAt, sequence);
}

async function produceAll(): Promise<RemoteInstance[]> {
  const clients = await Promise.all(Array.from({ length: params.producers }, () => connect({ path })));
  send({ type: 'ready' });
  const options = {
    ...(has('quotas') && { blockMs }),
    ...(has('one-way') && { oneWay: { windowMessages } }),
  };
  await Promise.all(
    clients.map((client, enqueuer) =>
      produce(client.openSession().openProducer(topicName, options), enqueuer),
    ),
  );
  return clients;
}

async function consume(subscriber: number): Promise<RemoteInstance[]> {
  const client = await connect({ path });
  const consumer = await client.openSession().openConsumer(topicName, {
    subscriber: subscriberOf(subscriber),
    ...(has('prefetch') && { prefetch: true, messagesMaximum }),
  });
  send({ type: 'ready' });
  const order = new DeliveryOrder();
  for (;;) {
    const wasRunning = isRunning();
    const fromMs = nowMs();
    const message = await consumer.receive({ waitMs: receiveMs });
    if (message === undefined) {
      if (wasRunning) continue;
      break;
    }
    count(fromMs);
    const identity = ledger.recordDelivery(message, order);
    if (identity !== null) ledger.recordConsumed(identity);
  }
  await consumer.close();
  return [client];
}

parentPort!.on('message', () => {
  const { user, system } = process.threadCpuUsage();
  send({ type: 'cpu', cpuUs: user + system });
});

async function run(): Promise<void> {
  const clients = role === 'produce' ? await produceAll() : await consume(role.subscriber);
  await Promise.all(clients.map((client) => client.close()));
  send({ type: 'done', report: { ledger: ledger.report(), counts, refused } });
  parentPort!.close();
}

run().catch((error: Error & { code?: string }) => {
  send({ type: 'failed', code: error.code, message: error.message, stack: error.stack });
});
