/** The client process of a trial: opens the system through its driver, does its work, and reports. */

import { WaitRecorder } from '@shardlab/engine';
import { Book } from '../../integrity/book.ts';
import { PayloadCodec } from '../../integrity/payload.ts';
import { drivers } from '../../systems/drivers.ts';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { CheckedDeliveries } from './checked-deliveries.ts';
import type { ClientJob, ClientResult, ClientWork, FromClient, ToClient } from './client-job.ts';
import { ClientSamples } from './client-samples.ts';
import { type Measured, runCompletion, type WorkContext } from './completion-work.ts';
import { Enqueuers } from './enqueuers.ts';
import { runFlowControl } from './flow-control-work.ts';
import { cpuOfGenerator } from './generator-cost.ts';
import { runRecovery, runUntilKilled } from './killed-work.ts';

async function runJob(job: ClientJob): Promise<void> {
  const { payloadBytes, seed, nonce, work, drainMs, serverPids } = job;
  const open = await drivers[job.driver]();
  const client = await open(job.client);
  const codec = new PayloadCodec({ bytes: payloadBytes, seed, nonce });
  const killBook = job.book === null ? null : new Book(job.book);
  const deliveries = new CheckedDeliveries(codec, job.client.dequeuers, job.order, killBook);
  const book = new WaitRecorder({ clock: { monotonicMs: () => performance.now() } });
  const producers = [];
  // One after the other: the driver numbers them.
  for (let each = 0; each < job.client.enqueuers; each += 1) producers.push(await client.openProducer(book));
  const enqueuers = new Enqueuers({ producers, codec, ledger: deliveries.ledger, book, killBook });
  sendToTrial<FromClient>({ type: 'opened' });
  const samples = new ClientSamples({
    waits: client.waits ?? book,
    counts: () => ({ enqueued: enqueuers.count, consumed: deliveries.count }),
    emit: (sampled) => sendToTrial<FromClient>({ type: 'sample', ...sampled }),
  });
  const context = {
    ...{ client, book, enqueuers, deliveries, drainMs, serverPids },
    onMeasure: () => samples.beginMeasure(),
  };
  const measured = await samples.during(() => runWork(work, context));
  const depth = await client.depth(0);
  await client.close();
  const figures = { ...measured.figures, ...(await generatorFigures(job, measured)) };
  sendToTrial<FromClient>({
    type: 'result',
    result: { ...measured, figures, stated: client.stated, ledger: deliveries.ledger.report(), depth },
  });
}

/** None if messages were missing, or nothing was timed. */
async function generatorFigures(
  job: ClientJob,
  { figures: { clientCpuUsPerMessage }, measuredMs }: Measured,
): Promise<ClientResult['figures']> {
  if (job.work.kind !== 'completion' || clientCpuUsPerMessage === undefined) return {};
  const generatorCpuUsPerMessage = await cpuOfGenerator(job, job.work, measuredMs);
  return {
    clientCpuUsPerMessageWithoutGenerator: Math.max(0, clientCpuUsPerMessage - generatorCpuUsPerMessage),
    generatorCpuUsPerMessage,
  };
}

function runWork(work: ClientWork, context: WorkContext): Promise<Measured> {
  switch (work.kind) {
    case 'completion':
      return runCompletion(work, context);
    case 'flow-control':
      return runFlowControl(work, context);
    case 'until-killed':
      return runUntilKilled(work, context);
    case 'recovery':
      return runRecovery(work, context);
  }
}

bindToTrial();
process.once('message', ({ job }: ToClient) => {
  runJob(job).catch(failTrial);
});
