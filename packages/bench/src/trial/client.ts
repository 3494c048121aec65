/**
 * The client process of a job: opens the system through its driver, runs the phases together with the other processes
 * of the step, and reports. Forked by `client-process.ts`; ends with it.
 */
import {
  type Clock,
  createMonotonicClock,
  encodeHistogram,
  PayloadCodec,
  type QueueClient,
} from '@shardlab/lab';
import { loadDriver } from '../drivers/systems.ts';
import { Deliveries } from './deliveries.ts';
import { EventLoopDelay } from './event-loop-delay.ts';
import type { FromClient, Job, SubscriberReport, ToClient } from './job.ts';
import { Load } from './load.ts';
import { Window } from './window.ts';

/** A queue that delivered nothing for this time counts as empty, milliseconds. */
const idleMs = 500;
const pollMs = 5;
/** While a backlog still grows towards its bound, senders have the system to themselves: that is not both at once. */
const settleMsMax = 3_000;

const send = (message: FromClient): void => {
  if (process.connected) process.send!(message);
};

/** Messages of the bench, each awaited once. */
class ParentMessages {
  readonly #arrived = new Map<ToClient['type'], ToClient>();
  readonly #awaited = new Map<ToClient['type'], (message: ToClient) => void>();

  constructor() {
    process.on('message', (message: ToClient) => {
      this.#arrived.set(message.type, message);
      this.#awaited.get(message.type)?.(message);
    });
  }

  next<T extends ToClient['type']>(type: T): Promise<Extract<ToClient, { type: T }>> {
    return new Promise((resolve) => {
      const done = (message: ToClient) => resolve(message as Extract<ToClient, { type: T }>);
      const arrived = this.#arrived.get(type);
      if (arrived !== undefined) done(arrived);
      else this.#awaited.set(type, done);
    });
  }
}

async function main(): Promise<void> {
  const orders = new ParentMessages();
  const { job } = await orders.next('job');
  const clock = createMonotonicClock();
  const openedFrom = performance.now();
  const client = await (await loadDriver(job.driver, job.placement))(job.client);
  const openMs = performance.now() - openedFrom;
  await runJob({ job, client, orders, clock, openMs });
}

async function runJob(options: {
  job: Job;
  client: QueueClient;
  orders: ParentMessages;
  clock: Clock;
  openMs: number;
}): Promise<void> {
  const { job, client, orders, clock, openMs } = options;
  const forge = new PayloadCodec({ bytes: job.payloadBytes, seed: 1, nonce: job.nonce });
  const producers = await Promise.all(job.enqueuers.map(() => client.openProducer()));
  const window = new Window({
    clock,
    serverPids: job.serverPids,
    counts: () => ({ enqueued: load.committed, consumed: deliveries.count }),
  });
  const load: Load = new Load({ job, clock, forge, producers, window });
  const subscribers = Math.max(1, job.client.subscribers);
  const onConsumed = (deliveries: number) => load.gate.consumed(deliveries / subscribers);
  const deliveries: Deliveries = new Deliveries({ job, forge, clock, window, onConsumed });
  const delay = new EventLoopDelay();
  await load.waitUntilReady();
  send({ type: 'opened' });

  const { startAtMs } = await orders.next('run');
  const until = async (atMs: number, unless = () => false) => {
    for (let left = atMs - clock(); left > 0 && !unless(); left = atMs - clock()) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, pollMs)));
    }
  };
  await until(startAtMs);
  window.open();
  delay.start(() => window.isOpen);
  const consuming =
    job.dequeuers === 0
      ? null
      : await client.consume({
          consumers: job.dequeuers,
          operations: job.client.operations,
          deliveries,
        });
  const enqueuing = load.run(clock());
  // Awaited further down; a failure must end the process now.
  enqueuing.catch(fail);
  const everything = () => (job.standing + load.committed) * subscribers;
  const isIdle = () => clock() - Math.max(deliveries.lastAtMs, startAtMs) > idleMs;
  const exhausted = () =>
    job.enqueuers.length === 0 && (deliveries.count >= everything() || (deliveries.count > 0 && isIdle()));
  await until(startAtMs + job.warmupMs, exhausted);
  await until(startAtMs + job.warmupMs + settleMsMax, () => isSettled(job, load, deliveries) || exhausted());
  if (!exhausted()) window.open();
  await until(clock() + job.measureMs, exhausted);
  const endedAtMs = exhausted() ? deliveries.lastAtMs : undefined;
  window.close();
  load.stop();
  await enqueuing;
  if (job.fill !== null) await load.fill(job.fill);
  send({ type: 'enqueued' });

  await orders.next('sealed');
  const drainedBy = clock() + job.drainMs;
  if (consuming !== null) {
    await until(drainedBy, () => deliveries.count >= everything() || isIdle());
    await consuming.stop();
  }
  delay.stop();
  send({ type: 'drained' });

  await orders.next('finish');
  const accounts: SubscriberReport[] = [];
  for (const [subscriber, ledger] of deliveries.reports(load.committedBy).entries()) {
    accounts.push({ ledger, depth: job.crash ? load.committed : await client.depth(subscriber) });
  }
  if (!job.crash) await client.close();
  send({
    type: 'result',
    result: {
      openMs,
      stated: client.stated,
      window: window.result(endedAtMs),
      latency: encodeHistogram(window.latency),
      scheduleLag: encodeHistogram(load.scheduleLag),
      eventLoopDelay: encodeHistogram(delay.histogram),
      residentBytesMax: delay.residentBytesMax,
      committed: load.committed,
      consumed: deliveries.count,
      subscriberReports: accounts,
    },
  });
}

/** In a closed loop of both, consumers keep up, or enqueuers wait for them. */
function isSettled(job: Job, load: Load, deliveries: Deliveries): boolean {
  if (job.enqueuers.length === 0 || job.dequeuers === 0 || job.transactionsPerSec !== null) return true;
  const consumed = deliveries.count / Math.max(1, job.client.subscribers);
  return load.wasFull || load.committed - consumed < consumed / 10;
}

function fail(error: unknown): void {
  send({ type: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}

process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);
main().catch(fail);
