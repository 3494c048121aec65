/** The threads of a case, as the thread of the instance sees them. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { SharedDequeueOptions } from '@shardlab/engine';
import type { LedgerReport } from '../../integrity/ledger.ts';
import type { CaseAnswer, CaseCall, CaseThreadJob } from './case-thread.ts';

const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));

export class CaseThread {
  readonly #worker: Worker;
  /** Number of its session. */
  session = 0;

  private constructor(job: CaseThreadJob) {
    this.#worker = new Worker(new URL(`./case-thread${extension}`, import.meta.url), { workerData: job });
  }

  static async start(job: CaseThreadJob): Promise<CaseThread> {
    const thread = new CaseThread(job);
    thread.session = (await thread.#answer()) as number;
    return thread;
  }

  /** Rejects with what the thread throws. */
  async #answer(): Promise<unknown> {
    const [answer] = (await once(this.#worker, 'message')) as [CaseAnswer];
    if ('value' in answer) return answer.value;
    throw Object.assign(new Error(answer.error.message), answer.error);
  }

  #call(call: CaseCall): Promise<unknown> {
    this.#worker.postMessage(call);
    return this.#answer();
  }

  async enqueue(subscriber: string): Promise<void> {
    await this.#call({ call: 'enqueue', subscriber });
  }

  async listen(subscriber: string, waitMs: number): Promise<void> {
    await this.#call({ call: 'listen', subscriber, waitMs });
  }

  async dequeue(subscriber: string, options: SharedDequeueOptions = {}): Promise<void> {
    await this.#call({
      call: 'dequeue',
      subscriber,
      options: { visibility: 'immediate', ...options },
    });
  }

  async commit(): Promise<void> {
    await this.#call({ call: 'commit' });
  }

  /** Ends the session and the thread. */
  async finish(): Promise<LedgerReport> {
    const report = (await this.#call({ call: 'finish' })) as LedgerReport;
    await this.#worker.terminate();
    return report;
  }
}
