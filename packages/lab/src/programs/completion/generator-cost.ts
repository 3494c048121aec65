/** Measures the cost of the load generator of a run to completion: a cycle of its enqueuers and checks on the null system. */
import { WaitRecorder } from '@shardlab/engine';
import { PayloadCodec } from '../../integrity/payload.ts';
import { threadCpuUs } from '../../meters/thread-cpu.ts';
import { open } from '../../systems/null-system.ts';
import { fastestRound, messagesOfRound } from '../queue/trial/generator-costs.ts';
import { CheckedDeliveries } from './checked-deliveries.ts';
import type { ClientJob, CompletionWork } from './client-job.ts';
import { runCycle } from './completion-work.ts';
import { Enqueuers } from './enqueuers.ts';

/** CPU time of this thread per message that is enqueued and dequeued, µs. Call it after the load, in the same process. */
export async function cpuOfGenerator(
  { client: options, payloadBytes, seed, nonce, drainMs }: ClientJob,
  work: CompletionWork,
  windowMs: number,
): Promise<number> {
  const messages = messagesOfRound({ payloadBytes, operations: 1 });
  const book = new WaitRecorder({ clock: { monotonicMs: () => performance.now() } });
  const codec = new PayloadCodec({ bytes: payloadBytes, seed, nonce });
  const round = async () => {
    const client = await open(options);
    const deliveries = new CheckedDeliveries(codec, work.threads, 'consumer');
    const producers = [];
    for (let each = 0; each < work.threads; each += 1) producers.push(await client.openProducer(book));
    const enqueuers = new Enqueuers({ producers, codec, ledger: deliveries.ledger, book });
    const context = { client, book, enqueuers, deliveries, drainMs, serverPids: [] };
    const before = threadCpuUs();
    await runCycle({ ...work, messages }, context);
    return (threadCpuUs() - before) / messages;
  };
  return await fastestRound(windowMs, round, (us) => us);
}
