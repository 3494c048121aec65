/** The process of a trial of the program `listen`: hosts the instance, and the threads with the sessions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Instance, openInstance, type SharedQueue, shareQueue } from '@shardlab/engine';
import { Ledger, type LedgerReport } from '../../integrity/ledger.ts';
import { PayloadCodec } from '../../integrity/payload.ts';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import {
  consumedAt,
  documentQueue,
  type FromHost,
  type ListenJob,
  type ListenResult,
  phaseAt,
  phases,
  queueName,
  type Snapshot,
  subscriberOf,
  type ToHost,
} from './listen-job.ts';
import { SessionWorker } from './session-threads.ts';

/** Enqueuers never sleep in a wait for messages, so several share a thread, whose start takes a seventh of a second. */
const enqueuerThreadsMax = 4;
const drainPollMs = 10;

async function runJob(job: ListenJob): Promise<void> {
  const instance = await openInstance({ dir: job.dir });
  const result = await measure(instance, job);
  await instance.close();
  sendToTrial<FromHost>({ type: 'result', result });
}

async function measure(instance: Instance, job: ListenJob): Promise<ListenResult> {
  const { params, seed, nonce, warmupMs, measureMs } = job;
  const { pairs, subscribers, durability, copies } = params;
  await instance.createQueue({ ...documentQueue, name: queueName, durability });
  for (let each = 0; each < Math.max(pairs, subscribers); each += 1)
    await instance.subscribe(queueName, { name: subscriberOf(each) });
  const shared = await shareQueue(instance, { queue: queueName, copies });
  const control = new SharedArrayBuffer((consumedAt + pairs) * Int32Array.BYTES_PER_ELEMENT);
  const words = new Int32Array(control);
  const start = (role: 'enqueue' | 'dequeue', ofThread: number[]) =>
    new SessionWorker({ handle: shared.handle, control, role, pairs: ofThread, params, seed, nonce });
  const all = Array.from({ length: pairs }, (_, pair) => pair);
  const dequeuing = all.map((pair) => start('dequeue', [pair]));
  const enqueuerThreads = Math.min(pairs, enqueuerThreadsMax);
  const enqueuing = Array.from({ length: enqueuerThreads }, (_, thread) =>
    start(
      'enqueue',
      all.filter((pair) => pair % enqueuerThreads === thread),
    ),
  );
  const [dequeuers] = await Promise.all([
    Promise.all(dequeuing.map(({ ready }) => ready)),
    Promise.all(enqueuing.map(({ ready }) => ready)),
  ]);
  const failed = Promise.race([...dequeuing, ...enqueuing].map(({ done }) => done.then(() => forever)));
  const passing = (ms: number) => Promise.race([sleep(ms), failed]);
  Atomics.store(words, phaseAt, phases.run);
  Atomics.notify(words, phaseAt);
  await passing(warmupMs);
  const numbers = dequeuers.flat();
  const before = snapshot(shared, numbers);
  await passing(measureMs);
  const after = snapshot(shared, numbers);
  Atomics.store(words, phaseAt, phases.drain);
  const enqueued = await Promise.all(enqueuing.map(({ done }) => done));
  await drain(shared, job.drainMs);
  await shared.close();
  const dequeued = await Promise.all(dequeuing.map(({ done }) => done));
  const left = await readRemaining(instance, job);
  const { durability: stated } = instance.queue(queueName);
  return { before, after, dequeuers: numbers, ledgers: [...enqueued, ...dequeued, left], stated };
}

const forever = new Promise<never>(() => {});

/**
 * Waits, like all figures about time, are those of the dequeuers, each of which has its own thread. Enqueuers share threads, and
 * pause by the lab's choice.
 */
function snapshot(shared: SharedQueue, dequeuers: readonly number[]): Snapshot {
  const { userCPUTime, systemCPUTime, involuntaryContextSwitches } = process.resourceUsage();
  return {
    atMs: performance.now(),
    statistics: shared.statistics(),
    waits: shared.waits(dequeuers),
    cpuUs: userCPUTime + systemCPUTime,
    preemptions: involuntaryContextSwitches,
  };
}

async function drain(shared: SharedQueue, drainMs: number): Promise<void> {
  const untilMs = performance.now() + drainMs;
  const hasMessages = () => shared.statistics().subscribers.some(({ ready }) => ready > 0);
  while (hasMessages() && performance.now() < untilMs) await sleep(drainPollMs);
}

async function readRemaining(
  instance: Instance,
  { params: { payloadBytes, pairs }, seed, nonce }: ListenJob,
): Promise<LedgerReport> {
  const ledger = new Ledger(new PayloadCodec({ bytes: payloadBytes, seed, nonce }));
  for (let pair = 0; pair < pairs; pair += 1) {
    const { messages } = await instance.browse(queueName, { subscriber: subscriberOf(pair), limit: 1_000 });
    for (const message of messages) ledger.recordRemaining(message);
  }
  return ledger.report();
}

bindToTrial();
process.once('message', ({ job }: ToHost) => {
  runJob(job).catch(failTrial);
});
