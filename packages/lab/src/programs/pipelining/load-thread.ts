/** A thread of a trial with pipelines: one consumer, or all producers, each over a connection of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { connect, type Producer, type RemoteInstance } from '@shardlab/engine';
import { DeliveryOrder, Ledger } from '../../integrity/ledger.ts';
import { PayloadCodec } from '../../integrity/payload.ts';
import {
  type ConsumerJob,
  expectedAt,
  type FromThread,
  nowMs,
  type ProducersJob,
  phaseAt,
  phases,
  receivedAt,
  sliceMs,
  type ThreadJob,
} from './pipelining-job.ts';

const { path, control, queue, role, payloadBytes, seed, nonce } = workerData as ThreadJob;
const words = new Int32Array(control);
const codec = new PayloadCodec({ bytes: payloadBytes, seed, nonce });
const ledger = new Ledger(codec);
const send = (message: FromThread) => parentPort!.postMessage(message);
const isRunning = () => Atomics.load(words, phaseAt) === phases.run;

/** Pause before a refused send is tried again, where there are no quotas to wait for. */
const retryMs = 10;
const receiveMs = 200;
/** After this many calls without a message since the producers ended, a consumer considers the missing messages lost. */
const emptyMax = 25;

const haveEnded = () => Atomics.load(words, phaseAt) === phases.producersEnded;
const isComplete = () => haveEnded() && Atomics.load(words, receivedAt) >= Atomics.load(words, expectedAt);

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

async function produce(producer: Producer, enqueuer: number, sendsPerSec: number): Promise<void> {
  const startedAtMs = nowMs();
  let sequence = 0;
  /** Start of a send that was refused and is tried again: the pauses in between count as waiting. */
  let refusedFromMs: number | undefined;
  while (isRunning()) {
    if (sendsPerSec > 0 && (sequence * 1_000) / sendsPerSec > nowMs() - startedAtMs) {
      await sleep(1);
      continue;
    }
    const fromMs = refusedFromMs ?? nowMs();
    const payload = codec.make({ enqueuer, sequence, sentAtMs: performance.now() });
    try {
      await producer.send({ payload });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refused += 1;
      refusedFromMs = fromMs;
      await sleep(retryMs);
      continue;
    }
    refusedFromMs = undefined;
    sequence += 1;
    count(fromMs);
  }
  await producer.close();
  ledger.recordCommitted(enqueuer, sequence);
}

async function produceAll({ producers, options, sendsPerSec }: ProducersJob): Promise<RemoteInstance[]> {
  const clients = await Promise.all(Array.from({ length: producers }, () => connect({ path })));
  send({ type: 'ready' });
  await Promise.all(
    clients.map((client, enqueuer) =>
      produce(client.openSession().openProducer(queue, options), enqueuer, sendsPerSec),
    ),
  );
  return clients;
}

async function consume({ options, workMs }: ConsumerJob): Promise<RemoteInstance[]> {
  const client = await connect({ path });
  const consumer = await client.openSession().openConsumer(queue, options);
  send({ type: 'ready' });
  const order = new DeliveryOrder();
  for (let empty = 0; empty < emptyMax && !isComplete(); ) {
    const fromMs = nowMs();
    const message = await consumer.receive({ waitMs: receiveMs });
    if (message === undefined) {
      empty = haveEnded() ? empty + 1 : 0;
      continue;
    }
    empty = 0;
    Atomics.add(words, receivedAt, 1);
    count(fromMs);
    const identity = ledger.recordDelivery(message, order);
    if (identity !== null) ledger.recordConsumed(identity);
    if (workMs > 0 && isRunning()) await sleep(workMs);
  }
  await consumer.close();
  return [client];
}

parentPort!.on('message', () => {
  const { user, system } = process.threadCpuUsage();
  send({ type: 'cpu', cpuUs: user + system });
});

async function run(): Promise<void> {
  const clients = 'producers' in role ? await produceAll(role) : await consume(role);
  await Promise.all(clients.map((client) => client.close()));
  send({ type: 'done', report: { ledger: ledger.report(), counts, refused } });
  parentPort!.close();
}

run().catch((error: Error & { code?: string }) => {
  send({ type: 'failed', code: error.code, message: error.message, stack: error.stack });
});
