/** Runs the threads of a trial on a served queue or topic: all producers, and a thread for each consumer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Instance, serveInstance } from '@shardlab/engine';
import { LoadThread } from './load-threads.ts';
import {
  type ConsumerJob,
  controlWords,
  expectedAt,
  nowMs,
  type ProducersJob,
  phaseAt,
  phases,
  sliceMs,
  type ThreadJob,
  type ThreadsResult,
} from './pipelining-job.ts';

export interface RunThreadsOptions extends Pick<ThreadJob, 'queue' | 'payloadBytes' | 'seed' | 'nonce'> {
  producers: ProducersJob;
  consumers: readonly ConsumerJob[];
  /** Number of consumers that receive each message. */
  copies: number;
  warmupMs: number;
  measureMs: number;
  /** Longest time to consume what is left when the producers have ended. */
  drainMs: number;
}

/** Rejects with the first error of a thread, or if the consumers take longer than `drainMs`. */
export async function runThreads(instance: Instance, options: RunThreadsOptions): Promise<ThreadsResult> {
  const { queue, payloadBytes, seed, nonce, warmupMs, measureMs, drainMs } = options;
  const served = await serveInstance(instance);
  const control = new SharedArrayBuffer(controlWords * Int32Array.BYTES_PER_ELEMENT);
  const words = new Int32Array(control);
  const common = { path: served.path, control, queue, payloadBytes, seed, nonce };
  const consumers: LoadThread[] = [];
  // One after the other, so that the queue knows the consumers in the order of their jobs.
  for (const role of options.consumers) {
    const thread = new LoadThread({ ...common, role });
    consumers.push(thread);
    await thread.ready;
  }
  const producers = new LoadThread({ ...common, role: options.producers });
  await producers.ready;
  const failed = Promise.race([producers, ...consumers].map(({ done }) => done.then(() => forever)));
  const passing = (ms: number) => Promise.race([sleep(ms), failed]);
  const cpuOf = () => Promise.all(consumers.map((each) => each.cpuUs()));

  await passing(warmupMs);
  const [openedAtMs, cpuBefore, ofConsumersBefore] = [nowMs(), process.cpuUsage(), await cpuOf()];
  const held: number[] = [];
  const sampling = setInterval(() => held.push(instance.queue(queue).held), sliceMs);
  try {
    await passing(measureMs);
  } finally {
    clearInterval(sampling);
  }
  const [closedAtMs, { user, system }, ofConsumers] = [nowMs(), process.cpuUsage(cpuBefore), await cpuOf()];
  Atomics.store(words, phaseAt, phases.drain);
  const sent = await producers.done;
  const committed = [...sent.ledger.committed.values()].reduce((sum, count) => sum + count, 0);
  Atomics.store(words, expectedAt, committed * options.copies);
  Atomics.store(words, phaseAt, phases.producersEnded);
  const received = await Promise.race([
    Promise.all(consumers.map(({ done }) => done)),
    sleep(drainMs).then(() => Promise.reject(new Error('What was sent was not received in time'))),
  ]);
  await served.close();
  const windowUs = (closedAtMs - openedAtMs) * 1_000;
  return {
    openedAtMs,
    closedAtMs,
    producers: sent,
    consumers: received,
    cpu: {
      processCores: (user + system) / windowUs,
      consumerCores: ofConsumers.map((cpuUs, index) => (cpuUs - ofConsumersBefore[index]!) / windowUs),
    },
    held,
  };
}

const forever = new Promise<never>(() => {});
