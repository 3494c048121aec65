/** The process of a trial of the program `pipelining`: serves the instance, and starts the threads with the clients. */
import { type Instance, openInstance } from '@shardlab/engine';
import { Ledger, type LedgerReport } from '../../integrity/ledger.ts';
import { PayloadCodec } from '../../integrity/payload.ts';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { type FromHost, type PipeliningJob, subscriberOf, type ToHost } from './pipelining-job.ts';
import { type Configuration, configurations } from './pipelining-params.ts';
import { runThreads } from './run-threads.ts';

/** Without a quota the message cache is the only bound, as memory was in the document's runs. */
const baseCacheBytes = 64 * 1024 ** 2;
const baseMessagesMax = 10_000_000;
const blockMs = 30_000;
const topicName = 'topic';

async function runJob(job: PipeliningJob): Promise<void> {
  const { params, seed, nonce, warmupMs, measureMs, drainMs } = job;
  const { producers, subscribers, payloadBytes, windowMessages, messagesMaximum, sendsPerSec } = params;
  const has = (each: Configuration) =>
    configurations.indexOf(params.configuration) >= configurations.indexOf(each);
  const instance = await openInstance({ dir: job.dir });
  await instance.createQueue({
    name: topicName,
    type: 'topic',
    durability: 'memory',
    visibility: 'immediate',
    messagesMax: has('quotas') ? params.quotaMessages : baseMessagesMax,
    cacheBytesMax: baseCacheBytes,
  });
  const names = Array.from({ length: subscribers }, (_, index) => subscriberOf(index));
  for (const name of names) await instance.subscribe(topicName, { name });
  const result = await runThreads(instance, {
    ...{ queue: topicName, payloadBytes, seed, nonce, warmupMs, measureMs, drainMs },
    producers: {
      producers,
      sendsPerSec,
      options: {
        ...(has('quotas') && { blockMs }),
        ...(has('one-way') && { oneWay: { windowMessages } }),
      },
    },
    copies: subscribers,
    consumers: names.map((subscriber) => ({
      workMs: 0,
      options: { subscriber, ...(has('prefetch') && { prefetch: true, messagesMaximum }) },
    })),
  });
  const ledgerOfLeft = await readRemaining(instance, job);
  await instance.close();
  sendToTrial<FromHost>({ type: 'result', result: { ...result, ledgerOfLeft } });
}

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
