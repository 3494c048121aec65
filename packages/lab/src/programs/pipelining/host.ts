/** The process of a trial of the program `pipelining`: serves the instance, and starts the threads with the clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Instance, openInstance, serveInstance } from '@shardlab/engine';
import { Ledger, type LedgerReport } from '../../trial/ledger.ts';
import { PayloadCodec } from '../../trial/payload.ts';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { LoadThread } from './load-threads.ts';
import {
  controlWords,
  type FromHost,
  nowMs,
  type PipeliningJob,
  type PipeliningResult,
  phaseAt,
  phases,
  subscriberOf,
  type ToHost,
  topicName,
} from './pipelining-job.ts';

/** Without a quota the bytes of the message cache are the bound, as memory is the document's. */
const baseCacheBytes = 64 * 1024 ** 2;
const baseMessagesMax = 10_000_000;

async function runJob(job: PipeliningJob): Promise<void> {
  const instance = await openInstance({ dir: job.dir });
  const result = await measure(instance, job);
  await instance.close();
  sendToTrial<FromHost>({ type: 'result', result });
}

async function measure(instance: Instance, job: PipeliningJob): Promise<PipeliningResult> {
  const { params, seed, nonce, warmupMs, measureMs, drainMs } = job;
  const isBase = params.configuration === 'base';
  await instance.createQueue({
    name: topicName,
    type: 'topic',
    durability: 'memory',
    visibility: 'immediate',
    messagesMax: isBase ? baseMessagesMax : params.quotaMessages,
    cacheBytesMax: baseCacheBytes,
  });
  for (let each = 0; each < params.subscribers; each += 1)
    await instance.subscribe(topicName, { name: subscriberOf(each) });
  const served = await serveInstance(instance);
  const control = new SharedArrayBuffer(controlWords * Int32Array.BYTES_PER_ELEMENT);
  const words = new Int32Array(control);
  const common = { path: served.path, control, params, seed, nonce };
  const consumers = Array.from(
    { length: params.subscribers },
    (_, subscriber) => new LoadThread({ ...common, role: { subscriber } }),
  );
  await Promise.all(consumers.map(({ ready }) => ready));
  const producers = new LoadThread({ ...common, role: 'produce' });
  await producers.ready;
  const failed = Promise.race([producers, ...consumers].map(({ done }) => done.then(() => forever)));
  const passing = (ms: number) => Promise.race([sleep(ms), failed]);
  const cpuOf = () => Promise.all(consumers.map((each) => each.cpuUs()));

  await passing(warmupMs);
  const [openedAtMs, cpuBefore, ofConsumersBefore] = [nowMs(), process.cpuUsage(), await cpuOf()];
  await passing(measureMs);
  const [closedAtMs, { user, system }, ofConsumers] = [nowMs(), process.cpuUsage(cpuBefore), await cpuOf()];
  Atomics.store(words, phaseAt, phases.drain);
  const sent = await producers.done;
  const received = await Promise.race([
    Promise.all(consumers.map(({ done }) => done)),
    sleep(drainMs).then(() => Promise.reject(new Error('The topic was not drained in time'))),
  ]);
  const windowUs = (closedAtMs - openedAtMs) * 1_000;
  const result = {
    openedAtMs,
    closedAtMs,
    producers: sent,
    consumers: received,
    cpu: {
      processCores: (user + system) / windowUs,
      consumerCores: ofConsumers.map((cpuUs, index) => (cpuUs - ofConsumersBefore[index]!) / windowUs),
    },
    ledgerOfLeft: await readRemaining(instance, job),
  };
  await served.close();
  return result;
}

const forever = new Promise<never>(() => {});

async function readRemaining(
  instance: Instance,
  { params: { payloadBytes }, seed, nonce }: PipeliningJob,
): Promise<LedgerReport> {
  const ledger = new Ledger(new PayloadCodec({ bytes: payloadBytes, seed, nonce }));
  const { messages } = await instance.browse(topicName, { subscriber: subscriberOf(0), limit: 1_000 });
  for (const message of messages) ledger.recordRemaining(message);
  return ledger.report();
}

bindToTrial();
process.once('message', ({ job }: ToHost) => {
  runJob(job).catch(failTrial);
});
