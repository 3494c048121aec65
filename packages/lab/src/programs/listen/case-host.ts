/** The process of a trial of the program `listen-cases`: hosts the instance and three sessions on threads. */
import { openInstance, shareQueue } from '@shardlab/engine';
import type { LedgerReport } from '../../integrity/ledger.ts';
import { bindToTrial, failTrial, sendToTrial } from '../client-failure.ts';
import { CaseThread } from './case-threads.ts';
import { type CaseFigures, type CaseName, runCase, subscribersOf } from './cases.ts';
import { documentQueue, queueName } from './listen-job.ts';

export interface CaseJob {
  dir: string;
  name: CaseName;
  copies: number;
  payloadBytes: number;
  seed: number;
  nonce: number;
}

export interface CaseResult {
  figures: CaseFigures;
  ledgers: LedgerReport[];
  measuredMs: number;
}

export type ToCaseHost = { type: 'job'; job: CaseJob };
export type FromCaseHost = { type: 'result'; result: CaseResult };

async function runJob({ dir, name, copies, ...thread }: CaseJob): Promise<void> {
  const instance = await openInstance({ dir });
  // Gets are counted, and their number does not depend on the disk.
  await instance.createQueue({ ...documentQueue, name: queueName, durability: 'relaxed' });
  for (const subscriber of subscribersOf(name)) await instance.subscribe(queueName, { name: subscriber });
  const shared = await shareQueue(instance, { queue: queueName, copies });
  const start = () => CaseThread.start({ handle: shared.handle, ...thread });
  const [dequeuer, enqueuer, other] = await Promise.all([start(), start(), start()]);
  const startMs = performance.now();
  const figures = await runCase(name, { instance, shared, dequeuer, enqueuer, other });
  const measuredMs = performance.now() - startMs;
  // One after the other: their ledgers are of the same messages.
  const ledgers = [await enqueuer.finish(), await dequeuer.finish(), await other.finish()];
  await shared.close();
  await instance.close();
  sendToTrial<FromCaseHost>({ type: 'result', result: { figures, ledgers, measuredMs } });
}

bindToTrial();
process.once('message', ({ job }: ToCaseHost) => {
  runJob(job).catch(failTrial);
});
