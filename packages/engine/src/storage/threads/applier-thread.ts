/** The session thread's side of the applier as a thread (`writer-thread.ts`): sends requests, and gives each its answer, in order. */
import type { Worker } from 'node:worker_threads';
import { QueueError } from '../../api/errors.ts';
import type { AppliedGroups, AppliedWork } from '../../model/applied-groups.ts';
import type { GroupNumber } from '../../model/ids.ts';
import type { Clock } from '../../model/ports.ts';
import type { RecoveredInstance } from '../../model/recovered-instance.ts';
import { fromStorageFailure } from '../../model/storage-failure.ts';
import type { SegmentRow } from '../redo/segment-files.ts';
import { type Applier, TransientFailure } from './applier.ts';
import { keepThread, openInThread } from './file-threads.ts';
import type { ApplierFile, ApplierReply, ApplierRequest } from './writer-thread.ts';

type Answer = Exclude<ApplierReply, { kind: 'opened' | 'failed' }>;
type AnswerOf<Kind extends Answer['kind']> = Extract<Answer, { kind: Kind }>;

interface PendingRequest {
  resolve(answer: ApplierReply): void;
  reject(error: unknown): void;
}

export class ApplierThread implements Applier {
  readonly #worker: Worker;
  readonly #clock: Clock;
  #pending: PendingRequest[] = [];
  #waitingSince = 0;
  #cpuUs = 0;
  #cpuUsBefore = 0;
  #ended: QueueError | undefined;

  private constructor(file: ApplierFile, clock: Clock) {
    this.#clock = clock;
    this.#worker = openInThread('writer-thread', file);
    this.#worker.on('message', (reply: ApplierReply) => this.#onReply(reply));
    const died = (cause?: unknown) => {
      this.#ended ??= new QueueError('INSTANCE_FAILED', { cause });
      for (const { reject } of this.#pending.splice(0)) reject(this.#ended);
    };
    this.#worker.on('error', died);
    this.#worker.on('exit', () => died());
  }

  /** Opens the file, which raises its epoch and applies what the redo log has. Throws the errors of opening it. */
  static async open(
    file: ApplierFile,
    clock: Clock,
  ): Promise<{ applier: ApplierThread; recovered: RecoveredInstance }> {
    const applier = new ApplierThread(file, clock);
    const answer = await applier.#expectAnswer().catch((error: unknown) => {
      throw error instanceof TransientFailure ? fromStorageFailure(error.failure) : error;
    });
    const opened = answer as Extract<ApplierReply, { kind: 'opened' }>;
    applier.#cpuUs = opened.cpuUs;
    applier.#cpuUsBefore = opened.cpuUsBefore;
    return { applier, recovered: opened.recovered };
  }

  get cpuUs(): number {
    return this.#cpuUs - this.#cpuUsBefore;
  }

  get silentMs(): number {
    return this.#pending.length === 0 ? 0 : this.#clock.monotonicMs() - this.#waitingSince;
  }

  async apply(through: GroupNumber): Promise<AppliedGroups & { work: AppliedWork }> {
    const applied = await this.#request<'applied'>({ kind: 'apply', through });
    this.#cpuUs = applied.cpuUs;
    return applied;
  }

  async addSegment(segment: SegmentRow): Promise<void> {
    await this.#request<'segment added'>({ kind: 'add segment', segment });
  }

  async close(): Promise<void> {
    if (this.#ended !== undefined) return;
    await this.#request<'closed'>({ kind: 'close' }).catch(() => undefined);
    this.#worker.unref();
    if (this.#ended === undefined) keepThread('writer-thread', this.#worker);
    this.#ended ??= new QueueError('INSTANCE_CLOSED');
  }

  #request<Kind extends Answer['kind']>(request: ApplierRequest): Promise<AnswerOf<Kind>> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    this.#worker.postMessage(request);
    return this.#expectAnswer() as Promise<AnswerOf<Kind>>;
  }

  #expectAnswer(): Promise<ApplierReply> {
    if (this.#pending.length === 0) this.#waitingSince = this.#clock.monotonicMs();
    this.#worker.ref(); // keeps the process alive until the answer
    return new Promise((resolve, reject) => this.#pending.push({ resolve, reject }));
  }

  #onReply(reply: ApplierReply): void {
    const pending = this.#pending.shift();
    this.#waitingSince = this.#clock.monotonicMs();
    if (this.#pending.length === 0) this.#worker.unref();
    if (reply.kind !== 'failed') pending?.resolve(reply);
    else if (reply.failure.fatal) pending?.reject(fromStorageFailure(reply.failure));
    else pending?.reject(new TransientFailure(reply.failure));
  }
}
