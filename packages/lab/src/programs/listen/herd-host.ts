/**
 * The process of a trial of the program `listen-herd`: all sessions listen, one message is enqueued, and each session reports its
 * events.
 */
import {
  type Instance,
  openInstance,
  type SessionEvent,
  type SharedQueue,
  shareQueue,
} from '@shardlab/engine';
import type { LedgerReport } from '../../integrity/ledger.ts';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { CaseThread } from './case-threads.ts';
import { documentQueue, queueName, subscriberOf } from './listen-job.ts';

export interface HerdJob {
  dir: string;
  listeners: number;
  copies: number;
  payloadBytes: number;
  seed: number;
  nonce: number;
}

export interface HerdResult {
  enqueuer: number;
  events: SessionEvent[];
  ledgers: LedgerReport[];
  measuredMs: number;
}

/** Gets of a listen before it sleeps, of a wake-up and of a dequeue: with room for posts that arrive in between. */
const traceEventsMax = 256;
const waitMs = 60_000;

async function runJob(job: HerdJob): Promise<void> {
  const instance = await openInstance({ dir: job.dir });
  await instance.createQueue({ ...documentQueue, name: queueName, durability: 'relaxed' });
  const names = Array.from({ length: job.listeners }, (_, index) => subscriberOf(index));
  for (const name of names) await instance.subscribe(queueName, { name });
  const result = await measure(instance, job, names);
  await instance.close();
  sendToTrial({ type: 'result', result });
}

async function measure(
  instance: Instance,
  { copies, payloadBytes, seed, nonce }: HerdJob,
  names: readonly string[],
): Promise<HerdResult> {
  const shared = await shareQueue(instance, { queue: queueName, copies, traceEventsMax });
  const start = () => CaseThread.start({ handle: shared.handle, payloadBytes, seed, nonce });
  const listeners = await Promise.all(names.map(start));
  const enqueuer = await start();
  const listening = listeners.map((listener, index) => listener.listen(names[index]!, waitMs));
  for (const call of listening) call.catch(() => undefined);
  await until(() => areListening(shared, listeners.length));
  const startMs = performance.now();
  await enqueuer.enqueue(names[0]!);
  await listening[0];
  await listeners[0]!.dequeue(names[0]!);
  await until(
    () => areListening(shared, listeners.length - 1) && wokenFalsely(shared) === listeners.length - 1,
  );
  const measuredMs = performance.now() - startMs;
  const events = shared.trace();
  await shared.close();
  await Promise.allSettled(listening);
  const ledgers: LedgerReport[] = [];
  for (const thread of [enqueuer, ...listeners]) ledgers.push(await thread.finish());
  return { enqueuer: enqueuer.session, events, ledgers, measuredMs };
}

const areListening = (shared: SharedQueue, count: number) =>
  shared.statistics().sessions.filter(({ state }) => state === 'listening').length === count;

const wokenFalsely = (shared: SharedQueue) =>
  shared.statistics().sessions.filter(({ falseWakeUps }) => falseWakeUps > 0).length;

async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await new Promise((resume) => setTimeout(resume, 1));
}

bindToTrial();
process.once('message', ({ job }: { type: 'job'; job: HerdJob }) => {
  runJob(job).catch(failTrial);
});
