/** The client process of a trial: opens the system through its driver, does its work, and reports. */

import { WaitRecorder } from '@shardlab/engine';
import { PayloadCodec } from '../../integrity/payload.ts';
import { drivers } from '../../systems/drivers.ts';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { CheckedDeliveries } from './checked-deliveries.ts';
import type { ClientJob, FromClient, ToClient } from './client-job.ts';
import { runCompletion } from './completion-work.ts';
import { Enqueuers } from './enqueuers.ts';
import { runFlowControl } from './flow-control-work.ts';

async function runJob(job: ClientJob): Promise<void> {
  const { payloadBytes, seed, nonce, work, drainMs, serverPids } = job;
  const open = await drivers[job.driver]();
  const client = await open(job.client);
  const codec = new PayloadCodec({ bytes: payloadBytes, seed, nonce });
  const deliveries = new CheckedDeliveries(codec, job.client.dequeuers, job.order);
  const book = new WaitRecorder({ clock: { monotonicMs: () => performance.now() } });
  const producers = [];
  // One after the other: the driver numbers them.
  for (let each = 0; each < job.client.enqueuers; each += 1) producers.push(await client.openProducer(book));
  const enqueuers = new Enqueuers({ producers, codec, ledger: deliveries.ledger, book });
  const context = { client, book, enqueuers, deliveries, drainMs, serverPids };
  const measured =
    work.kind === 'completion' ? await runCompletion(work, context) : await runFlowControl(work, context);
  const depth = await client.depth(0);
  await client.close();
  sendToTrial<FromClient>({
    type: 'result',
    result: { ...measured, stated: client.stated, ledger: deliveries.ledger.report(), depth },
  });
}

bindToTrial();
process.once('message', ({ job }: ToClient) => {
  runJob(job).catch(failTrial);
});
