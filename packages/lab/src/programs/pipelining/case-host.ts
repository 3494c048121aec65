/** The process of a trial of the program `pipelining-cases`: serves the instance, and is its own client. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Instance, openInstance, serveInstance } from '@shardlab/engine';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { type PipelineCaseFigures, type PipelineCaseName, queueName, runPipelineCase } from './cases.ts';

export interface PipelineCaseJob {
  dir: string;
  name: PipelineCaseName;
  messages: number;
  messagesMaximum: number;
}

export interface PipelineCaseResult {
  figures: PipelineCaseFigures;
  measuredMs: number;
  /** Messages that were committed, and are neither consumed nor in the queue. */
  lost: number;
}

const pollMs = 5;
/** A message that is not back by then never will be. */
const settledMsMax = 5_000;

async function runJob({ dir, name, messages, messagesMaximum }: PipelineCaseJob): Promise<void> {
  const instance = await openInstance({ dir });
  // Relaxed: what is counted does not depend on the disk.
  await instance.createQueue({ name: queueName, durability: 'relaxed', priorities: true });
  const served = await serveInstance(instance);
  const client = await connect({ path: served.path });
  const session = instance.openSession();
  const enqueue = async (count: number, priority = 0) => {
    for (let index = 0; index < count; index += 1)
      session.enqueue(queueName, { payload: String(index), priority });
    await session.commit();
  };
  const startMs = performance.now();
  const figures = await runPipelineCase(name, { instance, client, enqueue, messages, messagesMaximum });
  const measuredMs = performance.now() - startMs;
  await client.close();
  await served.close();
  const lost = await countLost(instance);
  await instance.close();
  const result: PipelineCaseResult = { figures, measuredMs, lost };
  sendToTrial({ type: 'result', result });
}

/** The last acknowledgements and returns of a closing consumer may still be in flight. */
async function countLost(instance: Instance): Promise<number> {
  const untilMs = performance.now() + settledMsMax;
  for (;;) {
    const { enqueued, consumed, ready } = instance.queue(queueName);
    const lost = enqueued - consumed - ready;
    if (lost === 0 || performance.now() > untilMs) return lost;
    await sleep(pollMs);
  }
}

bindToTrial();
process.once('message', ({ job }: { type: 'job'; job: PipelineCaseJob }) => {
  runJob(job).catch(failTrial);
});
