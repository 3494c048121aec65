/**
 * The process of a trial of the program `jetstream-failover`: it starts three servers, enqueues and consumes on them, and
 * makes one server after the other faulty, so that the one that leads the queue is among them.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { QueueError, type QueueStore } from '@shardlab/engine';
import { openJetStream } from '@shardlab/jetstream';
import { findServer, NatsCluster } from '@shardlab/jetstream/servers';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { type FailoverJob, type FailoverResult, isPowerCut } from './failover-job.ts';
import { healthyMsMax, makeFaults, serverCount } from './server-faults.ts';

const queue = 'failover';
const ackWaitMs = 10_000;
/** Pause of a producer after each message: what is measured is the time without service, not the rate. */
const pauseMs = 10;
/** Longest drain: a delivery that its consumer did not confirm is repeated only after `ackWaitMs`. */
const drainMsMax = 6 * ackWaitMs;
const settledMs = 3_000;
/** Codes of the errors after which a session continues. */
const tolerated = ['COMMIT_OUTCOME_UNKNOWN', 'INSTANCE_UNREACHABLE', 'TX_NOT_COMMITTED'];

class Ledger {
  readonly acknowledged = new Set<string>();
  readonly #confirmed = new Map<string, number>();
  readonly #unknownConsumption = new Set<string>();
  #unknown = 0;
  #lastAtMs = performance.now();
  gapMs = 0;

  enqueued(message: string): void {
    this.acknowledged.add(message);
    const now = performance.now();
    this.gapMs = Math.max(this.gapMs, now - this.#lastAtMs);
    this.#lastAtMs = now;
  }

  consumed(message: string): void {
    this.#confirmed.set(message, (this.#confirmed.get(message) ?? 0) + 1);
  }

  /** Throws what a fault does not explain. `consumed`: what the commit was to consume. */
  failed(error: unknown, consumed?: string): void {
    if (!(error instanceof QueueError) || !tolerated.includes(error.code)) throw error;
    if (error.code !== 'COMMIT_OUTCOME_UNKNOWN') return;
    this.#unknown += 1;
    if (consumed !== undefined) this.#unknownConsumption.add(consumed);
  }

  report(left: number): Omit<FailoverResult, 'measuredMs'> {
    const isGone = (message: string) =>
      !this.#confirmed.has(message) && !this.#unknownConsumption.has(message);
    return {
      acknowledged: this.acknowledged.size,
      consumed: this.#confirmed.size,
      unknown: this.#unknown,
      lost: Math.max(0, [...this.acknowledged].filter(isGone).length - left),
      doubled: [...this.#confirmed.values()].reduce((sum, count) => sum + count - 1, 0),
      left,
      gapMs: this.gapMs,
    };
  }
}

async function runJob(job: FailoverJob): Promise<void> {
  const found = findServer();
  if ('missing' in found) throw new Error(found.missing);
  const cluster = await NatsCluster.start({
    program: found.program,
    servers: serverCount,
    sync: job.synced ? 'always' : 'interval',
    dir: job.dir,
    losesUnsynced: isPowerCut(job.fault),
  });
  try {
    const store = await openJetStream({
      servers: [...cluster.urls],
      replicas: 3,
      sync: job.synced ? 'always' : 'interval',
      ackWaitMs,
      callMs: healthyMsMax,
    });
    await store.createQueue({ name: queue });
    const result = await measure(store, cluster, job);
    await store.close();
    sendToTrial({ type: 'result', result });
  } finally {
    await cluster.stop();
  }
}

async function measure(store: QueueStore, cluster: NatsCluster, job: FailoverJob): Promise<FailoverResult> {
  const ledger = new Ledger();
  const producing = new AbortController();
  const consuming = new AbortController();
  const numbers = Array.from({ length: job.sessions }, (_, number) => number);
  const producers = Promise.all(numbers.map((number) => produce(store, number, ledger, producing.signal)));
  const consumeAll = () => Promise.all(numbers.map(() => consume(store, ledger, consuming.signal)));
  // Messages that are consumed before a power cut cannot be lost in it.
  const early = isPowerCut(job.fault) ? [] : [consumeAll()];
  const failed = failureOf([producers, ...early]);
  const startedAtMs = performance.now();
  await Promise.race([makeFaults(cluster, job, () => ledger.acknowledged.size), failed]);
  producing.abort();
  const measuredMs = performance.now() - startedAtMs;
  await producers;
  const [consumers = consumeAll()] = early;
  const left = await Promise.race([drained(store), failureOf([consumers])]);
  consuming.abort();
  await consumers;
  return { ...ledger.report(left), measuredMs };
}

/** Rejects when one of them does, and never resolves. */
const failureOf = (all: Promise<unknown>[]): Promise<never> =>
  Promise.race(all.map((each) => each.then(() => new Promise<never>(() => {}))));

async function produce(
  store: QueueStore,
  number: number,
  ledger: Ledger,
  signal: AbortSignal,
): Promise<void> {
  const session = store.openSession();
  for (let count = 0; !signal.aborted; count += 1) {
    const message = `${number}.${count}`;
    session.enqueue(queue, { payload: message });
    await session.commit().then(
      () => ledger.enqueued(message),
      (error: unknown) => ledger.failed(error),
    );
    await pause(pauseMs);
  }
  await session.close();
}

async function consume(store: QueueStore, ledger: Ledger, signal: AbortSignal): Promise<void> {
  const session = store.openSession();
  while (!signal.aborted) {
    let message: string | undefined;
    try {
      message = (await session.dequeue(queue, { waitMs: 1_000, signal }))[0]?.payload.toString();
      if (message === undefined) continue;
      await session.commit();
      ledger.consumed(message);
    } catch (error) {
      ledger.failed(error, message);
      await pause(pauseMs);
    }
  }
  await session.close();
}

/**
 * Resolves with the number of messages that are left: 0 once the queue has been empty for `settledMs`, or what is there after
 * `drainMsMax`. One empty look proves nothing: a former leader that has not heard of the next one yet answers with what it has.
 */
async function drained(store: QueueStore): Promise<number> {
  const until = performance.now() + drainMsMax;
  let emptySinceMs: number | undefined;
  for (;;) {
    const { enqueued, consumed } = await store.queue(queue);
    const now = performance.now();
    emptySinceMs = enqueued === consumed ? (emptySinceMs ?? now) : undefined;
    if (emptySinceMs !== undefined && now - emptySinceMs > settledMs) return 0;
    if (now > until) return enqueued - consumed;
    await pause(100);
  }
}

bindToTrial();
process.once('message', ({ job }: { type: 'job'; job: FailoverJob }) => {
  runJob(job).catch(failTrial);
});
