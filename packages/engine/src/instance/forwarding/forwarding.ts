/** Forwarding at one instance: what its queues have to do with other instances, and what those ask of it. */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { WaitRecorder } from '../../core/waits.ts';
import type { QueueRow } from '../../storage/catalog.ts';
import type { BorrowedRow, LentRow } from '../../storage/forwarding-table.ts';
import type { BacklogReader } from '../backlog-reader.ts';
import type { GroupCommit } from '../group-commit.ts';
import type { HandOutLease } from '../hand-out-lease.ts';
import type { ShardedQueue } from '../sharded-queue.ts';
import type { Slab } from '../slab.ts';
import type { Batch, Giver, Interconnect, LoanReport, ShardName } from './interconnect.ts';
import { Landing } from './landing.ts';
import { Interrupted } from './loan.ts';
import { QueueForwarding, type QueueForwardingHost } from './queue-forwarding.ts';

export interface ForwardingOptions {
  instance: number;
  epoch: number;
  group: GroupCommit;
  slab: Slab;
  waits: WaitRecorder;
  backlog: BacklogReader;
  lease: HandOutLease | undefined;
  /** What the file says. */
  lent: readonly LentRow[];
  borrowed: readonly BorrowedRow[];
  /** Batch numbers count from here: none of an earlier opening is above it. */
  firstBatchNo: number;
  /** Undefined if the catalog has none. */
  queueOf(queueId: number): ShardedQueue | undefined;
  /** A bug: nothing more may be done. */
  onFatal(error: QueueError): void;
}

/** Where messages of a dropped or unknown queue go: nowhere. */
const nothing: LoanReport = { batchNo: 0, extent: [], delivered: true };

export class Forwarding {
  readonly #options: ForwardingOptions;
  readonly #landing: Landing;
  readonly #queues = new Map<number, QueueForwarding>();
  readonly #host: QueueForwardingHost;
  #interconnect: Interconnect | undefined;
  #batchNo: number;
  #connection = 0;
  #takesMessages = true;
  #closed = false;

  constructor(options: ForwardingOptions) {
    this.#options = options;
    this.#batchNo = options.firstBatchNo;
    const { instance, group, slab, backlog, lease } = options;
    this.#landing = new Landing({ instance, group, slab, rows: options.borrowed });
    this.#host = {
      instance,
      group,
      backlog,
      idleMs: () => this.#interconnect?.idleMs ?? limits.forwardIdleMs,
      peers: () => this.#interconnect?.peers() ?? [],
      peer: (other) => this.#interconnect?.peer(other),
      nextBatchNo: () => {
        this.#batchNo += 1;
        return this.#batchNo;
      },
      landed: (name) => this.#landing.settled(name),
      mayHandOut: () => lease?.held() !== false,
      takesMessages: () => this.#takesMessages,
      run: (work) => this.#run(work),
    };
  }

  /** To be called for each queue that is made in memory; those that cannot forward have none. */
  add(queue: ShardedQueue): void {
    const { row } = queue;
    if (!row.forwarding || this.#closed) return;
    const rows = this.#options.lent.filter(({ queueId }) => queueId === row.queueId);
    queue.forwarding = new QueueForwarding(queue, this.#host, rows);
    this.#queues.set(row.queueId, queue.forwarding);
    if (this.#interconnect !== undefined) queue.forwarding.onPeers();
  }

  drop(queueId: number): void {
    this.#queues.get(queueId)?.end();
    this.#queues.delete(queueId);
    this.#landing.forget(queueId);
  }

  /** Messages of a queue that came from other instances, and that went to them. */
  moved({ queueId }: QueueRow): { movedIn: number; movedOut: number } {
    return {
      movedIn: this.#landing.movedIn(queueId),
      movedOut: this.#queues.get(queueId)?.movedOut ?? 0,
    };
  }

  /** False from when the instance is to leave the cluster: then nothing more is taken from others. */
  set takesMessages(takes: boolean) {
    this.#takesMessages = takes;
  }

  /** Nothing is under way, and nothing that went from here waits elsewhere for its turn. */
  get isAtRest(): boolean {
    return [...this.#queues.values()].every((queue) => queue.isAtRest);
  }

  /** There is a way to the other instances; also to be called when others come and go. */
  connect(interconnect: Interconnect): void {
    this.#interconnect = interconnect;
    for (const queue of this.#queues.values()) queue.onPeers();
  }

  /** What is under way is finished, if it is quick; nothing more is begun. */
  async disconnect(): Promise<void> {
    const queues = [...this.#queues.values()];
    const rested = Promise.all(queues.map((queue) => queue.rest()));
    await Promise.race([rested, pause(limits.forwardPartingMs, undefined, { ref: false })]);
    this.#interconnect = undefined;
  }

  /** Numbers the connections to others, over all of this opening of the instance. */
  nextConnection(): number {
    this.#connection += 1;
    return this.#connection;
  }

  get epoch(): number {
    return this.#options.epoch;
  }

  /** A peer wants one batch. Resolves when it went, or when the peer does not want it any more. */
  want(peer: number, queueId: number, max: number): Promise<void> {
    return this.#of(queueId).want(peer, max);
  }

  unwant(peer: number, queueId?: number): void {
    if (queueId !== undefined) this.#queues.get(queueId)?.unwant(peer);
    else for (const queue of this.#queues.values()) queue.unwant(peer);
  }

  /** As `Landing.accept`. `sentMsAgo`: how long the batch was on its way. */
  async accept(giver: Giver, batch: Batch, sentMsAgo: number): Promise<boolean> {
    this.#assertOpen();
    const startedAt = performance.now();
    const accepted = await this.#landing.accept(giver, batch, () =>
      this.#options.queueOf(batch.queueId)?.forwarding?.placeFor(batch.shard),
    );
    if (!accepted) return false;
    this.#options.waits.record('forwarding', sentMsAgo + performance.now() - startedAt);
    this.#queues.get(batch.queueId)?.onArrived(batch.records.count);
    return true;
  }

  /** What this instance knows of a shard that it was given. */
  async report(giver: Giver, name: ShardName, whenDelivered: boolean): Promise<LoanReport> {
    this.#assertOpen();
    const queue = this.#options.queueOf(name.queueId)?.forwarding;
    if (queue === undefined) return nothing;
    for (;;) {
      if (whenDelivered) await queue.delivered(name.shard);
      const report = await this.#landing.report(giver, name);
      if (!whenDelivered) return { ...report, delivered: false };
      // A batch that came meanwhile is in the report, but may not have been delivered.
      if (!queue.isDelivered(name.shard)) continue;
      await nextTurn(); // who was handed the last ones sees them before the next are handed out elsewhere
      return { ...report, delivered: true };
    }
  }

  recall({ queueId, shard }: ShardName): void {
    this.#queues.get(queueId)?.recall(shard);
  }

  #assertOpen(): void {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED');
  }

  #of(queueId: number): QueueForwarding {
    this.#assertOpen();
    const queue = this.#options.queueOf(queueId)?.forwarding;
    if (queue !== undefined) return queue;
    throw new QueueError('QUEUE_NOT_FOUND', { details: { queueId } });
  }

  async #run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // Whatever the others or the storage refuse is tried again when something changes.
      if (error instanceof QueueError || error instanceof Interrupted || isAbort(error)) return;
      this.#options.onFatal(new QueueError('INSTANCE_FAILED', { cause: error }));
    }
  }

  /** Nothing more is done. */
  async close(): Promise<void> {
    await this.disconnect();
    this.#closed = true;
    for (const queue of this.#queues.values()) queue.end();
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
