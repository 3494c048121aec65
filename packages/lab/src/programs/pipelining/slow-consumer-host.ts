/** The process of a trial of the program `slow-consumer`: serves the instance, and starts the threads with the clients. */
import { openInstance } from '@shardlab/engine';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import type { ConsumerJob } from './pipelining-job.ts';
import { runThreads } from './run-threads.ts';
import type { SlowConsumerJob, SlowConsumerResult } from './slow-consumer-job.ts';

const queue = 'queue';
const blockMs = 60_000;

async function runJob({ dir, params, ...rest }: SlowConsumerJob): Promise<void> {
  const { pipeline, messagesMaximum, workMs, quotaMessages, windowMessages, payloadBytes, producers } =
    params;
  const instance = await openInstance({ dir });
  await instance.createQueue({
    name: queue,
    durability: 'memory',
    visibility: 'immediate',
    messagesMax: quotaMessages,
  });
  const other: ConsumerJob = { workMs: 0, options: { prefetch: true } };
  const slow: ConsumerJob = {
    workMs,
    options: { prefetch: true, messagesMaximum, fair: pipeline === 'fair' },
  };
  const threads = await runThreads(instance, {
    ...{ ...rest, queue, payloadBytes },
    producers: { producers, sendsPerSec: 0, options: { blockMs, oneWay: { windowMessages } } },
    copies: 1,
    consumers: pipeline === 'none' ? [other] : [other, slow],
  });
  const { ready, held } = instance.queue(queue);
  await instance.close();
  const result: SlowConsumerResult = { threads, left: ready + held };
  sendToTrial({ type: 'result', result });
}

bindToTrial();
process.once('message', ({ job }: { type: 'job'; job: SlowConsumerJob }) => {
  runJob(job).catch(failTrial);
});
