/**
 * The process of a trial of the program `jetstream-failover`: it starts three servers, enqueues and consumes on them, and
 * makes one server after the other faulty, so that the one that leads the queue is among them.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { QueueError, type QueueStore } from '@shardlab/engine';
import { openJetStream } from '@shardlab/jetstream';
import { findServer, NatsCluster } from '@shardlab/jetstream/servers';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import type { FailoverJob, FailoverResult, Fault } from './failover-job.ts';

const queue = 'failover';
const serverCount = 3;
const ackWaitMs = 10_000;
/** Pause of a producer after each message: what is measured is the time without service, not the rate. */
const pauseMs = 10;
const healthyMsMax = 60_000;
/** What nobody knew to be delivered comes back when its time with the servers is up. */
const drainMsMax = 6 * ackWaitMs;
/** After these a session goes on. */
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
  const consumers = Promise.all(numbers.map(() => consume(store, ledger, consuming.signal)));
  const failed = Promise.race(
    [producers, consumers].map((all) => all.then(() => new Promise<never>(() => {}))),
  );
  const startedAtMs = performance.now();
  await Promise.race([makeFaults(cluster, job), failed]);
  producing.abort();
  const measuredMs = performance.now() - startedAtMs;
  await producers;
  const left = await Promise.race([drained(store), failed]);
  consuming.abort();
  await consumers;
  return { ...ledger.report(left), measuredMs };
}

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

async function makeFaults(cluster: NatsCluster, { fault, faultMs }: FailoverJob): Promise<void> {
  for (let server = 0; server < serverCount; server += 1) {
    await begin[fault](cluster, server);
    await pause(faultMs);
    await end[fault](cluster, server);
    await untilHealthy(cluster);
  }
}

type Act = (cluster: NatsCluster, server: number) => Promise<void> | void;

const begin: Readonly<Record<Fault, Act>> = {
  none: () => {},
  kill: (cluster, server) => cluster.kill(server),
  pause: (cluster, server) => cluster.pause(server),
  partition: (cluster, server) => cluster.partition(server),
};

const end: Readonly<Record<Fault, Act>> = {
  none: () => {},
  kill: (cluster, server) => cluster.restart(server),
  pause: (cluster, server) => cluster.resume(server),
  partition: (cluster) => cluster.heal(),
};

async function untilHealthy(cluster: NatsCluster): Promise<void> {
  const until = performance.now() + healthyMsMax;
  for (let server = 0; server < serverCount; ) {
    if (await cluster.isHealthy(server)) server += 1;
    else if (performance.now() > until) throw new Error(`server ${server + 1} is not healthy after a minute`);
    else await pause(100);
  }
}

/** Waits until the queue is empty; what is left after a time. */
async function drained(store: QueueStore): Promise<number> {
  const until = performance.now() + drainMsMax;
  for (;;) {
    const { enqueued, consumed } = await store.queue(queue);
    if (enqueued === consumed || performance.now() > until) return enqueued - consumed;
    await pause(100);
  }
}

bindToTrial();
process.once('message', ({ job }: { type: 'job'; job: FailoverJob }) => {
  runJob(job).catch(failTrial);
});
