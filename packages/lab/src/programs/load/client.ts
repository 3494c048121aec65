/**
 * The client process of a job: opens the system through its driver, runs the phases together with the other processes
 * of the step, and reports.
 */

import { WaitRecorder } from '@shardlab/engine';
import { PayloadCodec } from '../../integrity/payload.ts';
import type { Clock } from '../../meters/clock.ts';
import { createMonotonicClock } from '../../meters/clock.ts';
import { encodeHistogram } from '../../meters/latency.ts';
import { TraceSampler } from '../../meters/trace-sampler.ts';
import type { QueueClient } from '../../systems/driver/driver.ts';
import { drivers } from '../../systems/drivers.ts';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { Deliveries } from './deliveries.ts';
import { EventLoopDelay } from './event-loop-delay.ts';
import { Load } from './load.ts';
import type { FromClient, LoadJob, ToClient } from './load-job.ts';
import { Window } from './window.ts';

/** A queue that delivered nothing for this time counts as empty, milliseconds. */
const idleMs = 500;
const pollMs = 5;
/**
 * While a backlog still grows towards its bound, enqueuers have the system almost to themselves, so enqueuing and dequeuing are
 * not measured together.
 */
const settleMsMax = 3_000;

const send = sendToTrial<FromClient>;

/** Messages of the trial, each awaited once. */
class TrialMessages {
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
  const orders = new TrialMessages();
  const { job } = await orders.next('job');
  const openedFrom = performance.now();
  const client = await (await drivers[job.driver]())(job.client);
  const openMs = performance.now() - openedFrom;
  await runJob({ job, client, orders, clock: createMonotonicClock(), openMs });
}

async function runJob(options: {
  job: LoadJob;
  client: QueueClient;
  orders: TrialMessages;
  clock: Clock;
  openMs: number;
}): Promise<void> {
  const { job, client, orders, clock, openMs } = options;
  const codec = new PayloadCodec({ bytes: job.payloadBytes, seed: job.seed, nonce: job.nonce });
  const book = new WaitRecorder({ clock: { monotonicMs: clock } });
  const producers = await Promise.all(job.enqueuers.map(() => client.openProducer(book)));
  const window = new Window({
    clock,
    waits: client.waits ?? book,
    serverPids: job.serverPids,
    written: client.written,
    counts: () => ({ enqueued: load.committed, consumed: deliveries.count }),
  });
  const load: Load = new Load({ job, clock, codec, producers, window, book });
  /** Each message is delivered as often. */
  const copies = Math.max(1, job.client.subscribers);
  const onConsumed = (count: number) => load.gate.consumed(count / copies);
  const deliveries: Deliveries = new Deliveries({ job, codec, clock, window, onConsumed });
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
  const { operations } = job.client;
  const consuming =
    job.dequeuers === 0
      ? null
      : await client.consume({ consumers: job.dequeuers, operations, deliveries, book });
  const enqueuing = load.run(clock());
  // Awaited further down; a failure must end the process now.
  enqueuing.catch(failTrial);
  const everything = () => copies * (job.standing + load.committed);
  const isIdle = () => clock() - Math.max(deliveries.lastAtMs, startAtMs) > idleMs;
  const isExhausted = () =>
    job.enqueuers.length === 0 && (deliveries.count >= everything() || (deliveries.count > 0 && isIdle()));
  await until(startAtMs + job.warmupMs, isExhausted);
  await until(
    startAtMs + job.warmupMs + settleMsMax,
    () => isSettled(job, load, deliveries.count / copies) || isExhausted(),
  );
  if (!isExhausted()) window.open();
  const openedAtMs = clock();
  const sampler = consuming === null || client.traced === undefined ? null : new TraceSampler(client.traced);
  sampler?.start({ fromMs: openedAtMs, toMs: openedAtMs + job.measureMs }, clock);
  await until(openedAtMs + job.measureMs / 2, isExhausted);
  window.passMiddle();
  await until(openedAtMs + job.measureMs, isExhausted);
  const endedAtMs = isExhausted() ? deliveries.lastAtMs : undefined;
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
  // A process that is killed closes nothing; the next step counts what it left.
  const depths = await Promise.all(
    Array.from({ length: copies }, async (_, copy) => (job.isKilled ? load.committed : client.depth(copy))),
  );
  const traces = (await sampler?.finish()) ?? null;
  if (!job.isKilled) await client.close();
  send({
    type: 'result',
    result: {
      stated: client.stated,
      openMs,
      window: window.result(endedAtMs),
      traces,
      latency: encodeHistogram(window.latency),
      scheduleLag: encodeHistogram(load.scheduleLag),
      eventLoopDelay: encodeHistogram(delay.histogram),
      residentBytesMax: delay.residentBytesMax,
      committed: load.committed,
      consumed: deliveries.count,
      ledgers: deliveries.report(load.committedBy),
      depths,
    },
  });
}

/** Whether dequeuers keep up, or enqueuers wait for them, in a closed loop of both. */
function isSettled(job: LoadJob, load: Load, consumed: number): boolean {
  if (job.enqueuers.length === 0 || job.dequeuers === 0 || job.transactionsPerSec !== null) return true;
  return load.wasFull || load.committed - consumed < consumed / 10;
}

bindToTrial();
main().catch(failTrial);
