/**
 * Group commit: transactions that are ready together share one write and one sync. While a group syncs the next one
 * fills, so under load the groups grow by themselves and nobody waits for a timer. What a group changes becomes visible
 * only when the writer has made it durable.
 */

import type { SeqRange } from '../core/consumption.ts';
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { Group, GroupResult } from '../storage/group-message.ts';
import { fromFailure } from '../storage/storage-failure.ts';
import { type BuiltGroup, buildGroup, GroupBuffers } from './group-builder.ts';
import type { OutcomeBook } from './outcome-book.ts';
import type { PartitionPool } from './partition-pool.ts';
import type { Shard } from './shard.ts';
import type { ShardReader } from './shard-reader.ts';
import { operationsOf, type StagedTransaction } from './staged-transaction.ts';
import { Wakeups } from './wakeups.ts';
import type { WriterHold } from './writer-hold.ts';

interface Waiting {
  transaction: StagedTransaction;
  /** Waits for its turn at the writer instead of a commit. */
  hold?: WriterHold;
  submittedAt: number;
  /** For how long the writer had been held when it was submitted; once its group is closed, for how long since then. */
  heldMs: number;
  resolve(): void;
  reject(error: QueueError): void;
}

interface InFlight extends BuiltGroup {
  /** Gaps of earlier failures that this group makes durable. */
  gaps: Map<Shard, SeqRange[]>;
  no: number;
  generation: number;
  members: Waiting[];
}

export interface GroupCommitOptions {
  firstGroupNo: number;
  pool: PartitionPool;
  /** Remembers the transactions of remote sessions. */
  book: OutcomeBook;
  waits: WaitRecorder;
  send(group: Group): void;
  /** Undoes what the session did that held the writer. */
  release(): void;
  /** Called after a group became visible, with the shards that got messages. */
  onVisible(shards: Iterable<Shard>): void;
  /** Called when numbers of a reader became terminal, once that is durable. */
  onConsumed(reader: ShardReader, ranges: readonly SeqRange[]): void;
  /** Called after shards may have gone on to a new partition. */
  onRolled(shards: Iterable<Shard>): void;
  /** Called when nothing more can be committed until the instance is opened again. */
  onFatal(error: QueueError): void;
}

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #buffers = new GroupBuffers();
  #waiting: Waiting[] = [];
  readonly #inFlight: InFlight[] = [];
  readonly #wakeups = new Wakeups(() => {
    if (this.#waiting.length > 0 || this.#maintenanceDue) this.schedule();
    else if (this.#inFlight.length === 0) this.#notifyIdle();
  });
  #gaps = new Map<Shard, SeqRange[]>();
  /** The session whose transaction the writer has open: no group is closed meanwhile but the one that commits it. */
  #holder: WriterHold | undefined;
  #holderSince = 0;
  /** By sessions that hold it no more. */
  #heldMs = 0;
  #scheduled = false;
  #nextNo: number;
  #generation = 0;
  /** After a failure, work on the pool alone waits for the next transaction: retrying it by itself would spin. */
  #stalled = false;
  #fatal: QueueError | undefined;
  #idle: (() => void)[] = [];
  /** Group commits and transactions since the instance opened. */
  groups = 0;
  commits = 0;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
    this.#nextNo = options.firstGroupNo;
  }

  /** Resolves when the transaction is durable and visible; rejects with the storage error if its group failed. */
  submit(transaction: StagedTransaction): Promise<void> {
    if (this.#fatal !== undefined) return Promise.reject(this.#fatal);
    if (transaction.runs.length > 0 && !this.#options.pool.hasRoom) {
      return Promise.reject(
        new QueueError('BACKLOG_FULL', { details: { partitionsMax: limits.partitionsMax } }),
      );
    }
    return new Promise((resolve, reject) => {
      const holds = transaction.hold !== undefined && transaction.hold === this.#holder;
      if (holds) this.#letGo();
      const submittedAt = performance.now();
      const heldMs = this.#heldMsAt(submittedAt);
      const waiting = { transaction, submittedAt, heldMs, resolve, reject };
      if (!holds) {
        this.#waiting.push(waiting);
        this.schedule();
        return;
      }
      this.#waiting.unshift(waiting); // those who waited meanwhile share its group
      this.#close();
    });
  }

  /** Resolves when the writer is the caller's: nothing is under way, and no group closes before its commit or `release`. */
  hold(hold: WriterHold): Promise<void> {
    if (this.#fatal !== undefined) return Promise.reject(this.#fatal);
    return new Promise((resolve, reject) => {
      const submittedAt = performance.now();
      const heldMs = this.#heldMsAt(submittedAt);
      this.#waiting.push({ transaction: nothingBeside, hold, submittedAt, heldMs, resolve, reject });
      this.schedule();
    });
  }

  /** Ends a hold without a commit; nothing if a commit has ended it. */
  release(hold: WriterHold): void {
    if (this.#holder !== hold || this.#fatal !== undefined) return;
    this.#letGo();
    this.#options.release();
    if (this.#waiting.length > 0 || this.#maintenanceDue) this.schedule();
    else this.#notifyIdle();
  }

  #letGo(): void {
    this.#heldMs = this.#heldMsAt(performance.now());
    this.#holder = undefined;
  }

  #heldMsAt(now: number): number {
    return this.#heldMs + (this.#holder === undefined ? 0 : now - this.#holderSince);
  }

  #grant({ hold, submittedAt, resolve }: Waiting): void {
    this.#holder = hold;
    this.#holderSince = performance.now();
    this.#options.waits.record('writer hold', this.#holderSince - submittedAt);
    resolve();
  }

  /** Closes a group at the end of this turn of the event loop, so that all that commit in it share the group. */
  schedule(): void {
    if (this.#scheduled || this.#fatal !== undefined || this.#holder !== undefined) return;
    if (this.#inFlight.length >= limits.groupsInFlightMax || this.#recovering) return;
    if (this.#inFlight[0]?.members[0]?.transaction.alone) return;
    // While the writer has work, the next group is for all that the last one woke.
    if (this.#inFlight.length > 0 && this.#wakeups.pending) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#close();
    });
  }

  /** Nothing is waiting or under way. */
  get isIdle(): boolean {
    return this.#inFlight.length === 0 && this.#waiting.length === 0 && this.#holder === undefined;
  }

  /** Resolves when nothing is waiting or under way. */
  async settled(): Promise<void> {
    while (!this.#fatal && (!this.isIdle || this.#maintenanceDue || this.#wakeups.pending)) {
      this.schedule();
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  /** Groups behind a failed one are not answered yet: a new one would not know what they leave undone. */
  get #recovering(): boolean {
    return this.#inFlight.some((group) => group.generation !== this.#generation);
  }

  get #maintenanceDue(): boolean {
    return this.#options.pool.pending && !this.#stalled;
  }

  #close(): void {
    if (this.#fatal !== undefined || this.#recovering || this.#holder !== undefined) return;
    const [first] = this.#waiting;
    if (first?.transaction.alone && this.#inFlight.length > 0) return; // comes again with the next result
    const members = this.#takeMembers();
    if (members[0]?.hold !== undefined) {
      this.#grant(members[0]);
      return;
    }
    const heldMs = this.#heldMsAt(performance.now());
    for (const member of members) member.heldMs = heldMs - member.heldMs;
    if (members.length === 0 && !this.#maintenanceDue) {
      this.#notifyIdle();
      return;
    }
    let built: BuiltGroup;
    try {
      built = buildGroup({
        transactions: members.map((member) => member.transaction),
        gaps: this.#gaps,
        pool: this.#options.pool,
        buffers: this.#buffers,
        book: this.#options.book,
      });
    } catch (error) {
      // Half-numbered shards cannot be mended in place; the files are untouched.
      this.fail(new QueueError('INSTANCE_FAILED', { cause: error }), members);
      return;
    }
    const gaps = this.#gaps;
    this.#gaps = new Map();
    const group: InFlight = { ...built, gaps, no: this.#nextNo, generation: this.#generation, members };
    this.#nextNo += 1;
    const { blocks, deltas, side, sql, pool } = built.message;
    const poolChanges = pool.create.length + pool.assign.length + pool.truncate.length;
    // Of nonpersistent messages nothing is written, the outcome of their transaction neither.
    const writesNothing = blocks.length + deltas.length + side.length + sql.length + poolChanges === 0;
    const empty = writesNothing && members[0]?.transaction.hold === undefined;
    if (empty && this.#inFlight.length === 0) {
      group.outcomes.appliedInMemory();
      this.#apply(group, { maintenanceMs: 0, unusable: [] }, noneFailed);
      if (this.#waiting.length === 0) this.#notifyIdle();
    } else {
      this.#inFlight.push(group);
      this.#options.send({ kind: 'group', no: group.no, generation: group.generation, ...built.message });
    }
    if (this.#waiting.length > 0) this.schedule();
  }

  #takeMembers(): Waiting[] {
    let bytes = 0;
    let count = 0;
    let withStatements = 0;
    while (count < this.#waiting.length) {
      const { transaction } = this.#waiting[count]!;
      bytes += transaction.bytes;
      if (transaction.sql !== undefined) withStatements += 1;
      if (count > 0 && (bytes > limits.groupBytesMax || transaction.alone)) break;
      if (withStatements > limits.sqlTransactionsPerGroupMax) break;
      count += 1;
      if (this.#waiting[0]!.transaction.alone) break;
    }
    return this.#waiting.splice(0, count);
  }

  /** The writer's answer to the oldest group under way. */
  onResult(result: GroupResult): void {
    const group = this.#inFlight.shift();
    if (group === undefined || group.no !== result.no) {
      this.fail(
        new QueueError('INSTANCE_FAILED', { sentence: `The writer answered group ${result.no} out of turn` }),
      );
      return;
    }
    if (result.failure === null) {
      const failed = takeResults(group, result.sql);
      group.outcomes.applied(group.no, failed);
      this.#apply(group, result, failed);
    } else if (result.failure.fatal) this.fail(fromFailure(result.failure), group.members);
    else this.#undo(group, fromFailure(result.failure));
    if (this.#waiting.length > 0 || this.#maintenanceDue) this.schedule();
    if (this.#inFlight.length === 0 && this.#waiting.length === 0) this.#notifyIdle();
  }

  #notifyIdle(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  #apply(
    group: InFlight,
    { maintenanceMs, unusable }: Pick<GroupResult, 'maintenanceMs' | 'unusable'>,
    failed: FailedTransactions,
  ): void {
    const { pool, onVisible, onConsumed, waits } = this.#options;
    this.#stalled = false;
    this.groups += 1;
    pool.applied(group.message.pool, unusable);
    const maintained = group.message.pool.truncate.length + group.message.pool.assign.length > 0;
    const now = performance.now();
    const consumed = [group.consumed];
    for (const { transaction, submittedAt, heldMs, resolve, reject } of group.members) {
      const failure = failed.get(transaction);
      if (failure !== undefined) {
        for (const { shard, firstSeq, count } of transaction.runs) shard.skip(firstSeq, firstSeq + count);
        reject(failure);
        continue;
      }
      const part = group.sql.get(transaction);
      if (part !== undefined) consumed.push(part.consumed);
      for (const run of transaction.runs) {
        for (const segment of run.segments) run.shard.append(segment);
      }
      transaction.applied?.();
      if (transaction.background) {
        resolve();
        continue;
      }
      this.commits += 1;
      const waitedMs = now - submittedAt - heldMs;
      if (heldMs > 0) waits.record('writer hold', heldMs);
      if (maintained) waits.record('partition maintenance', Math.min(maintenanceMs, waitedMs));
      waits.record('log file sync', maintained ? Math.max(0, waitedMs - maintenanceMs) : waitedMs);
      this.#wakeups.add(resolve, operationsOf(transaction));
    }
    const touched = new Set<Shard>(group.numbered.keys());
    for (const [reader, { deliveries, ranges }] of consumed.flatMap((each) => [...each])) {
      reader.consume(deliveries, ranges);
      onConsumed(reader, ranges);
      touched.add(reader.shard);
    }
    for (const shard of touched) this.truncateDrained(shard);
    if (group.message.pool.assign.length > 0) this.#options.onRolled(touched);
    onVisible(group.numbered.keys());
    this.#wakeups.run();
    if (this.#maintenanceDue) this.schedule();
  }

  /** Orders partitions that nobody needs any more to be emptied, with the next group. */
  truncateDrained(shard: Shard): void {
    if (!shard.persistent) return;
    for (const drained of shard.partitions.takeDrained(shard.watermark)) {
      this.#options.pool.truncate(drained.no, shard.partitions);
    }
  }

  #undo(group: InFlight, error: QueueError): void {
    this.#stalled = true;
    for (const [shard, ranges] of group.gaps) this.#keepGaps(shard, ranges);
    for (const [shard, range] of group.numbered) {
      shard.skip(...range);
      if (!shard.persistent) continue;
      this.#keepGaps(shard, [range]);
    }
    this.#options.pool.failed(group.message.pool);
    group.outcomes.failed();
    // The first failure of a generation: the groups behind it are refused, those after them may try again.
    if (group.generation === this.#generation) this.#generation += 1;
    for (const { reject } of group.members) reject(error);
  }

  #keepGaps(shard: Shard, ranges: readonly SeqRange[]): void {
    this.#gaps.set(shard, [...(this.#gaps.get(shard) ?? []), ...ranges]);
  }

  /**
   * Nothing more is committed: rejects all that waits, with `INSTANCE_FAILED`. Of those whose group was with the writer
   * nobody knows whether they are durable before the instance is opened again.
   */
  fail(cause: QueueError, members: readonly Waiting[] = []): void {
    if (this.#fatal !== undefined) return;
    const error = instanceFailed(cause);
    this.#fatal = error;
    const lost = [...members, ...this.#inFlight.flatMap((group) => group.members), ...this.#waiting];
    this.#inFlight.length = 0;
    this.#waiting = [];
    for (const { reject } of lost) reject(error);
    this.#options.onFatal(error);
    this.#notifyIdle();
  }
}

/** Those of a group whose statements failed, and why: the group is durable without them. */
type FailedTransactions = ReadonlyMap<StagedTransaction, QueueError>;

/** Stands for a hold among what waits: it has a turn of its own. */
const nothingBeside: StagedTransaction = {
  runs: [],
  deliveries: [],
  bytes: 0,
  sync: 'FULL',
  alone: true,
};

const noneFailed: FailedTransactions = new Map();

/** Puts into each transaction what its statements came to; returns those in which one failed. */
function takeResults({ sql }: InFlight, outcomes: GroupResult['sql']): FailedTransactions {
  if (sql.size === 0) return noneFailed;
  const failed = new Map<StagedTransaction, QueueError>();
  for (const [index, transaction] of [...sql.keys()].entries()) {
    const { results, failure } = outcomes[index]!;
    if (failure === null) transaction.sql!.results = results;
    else failed.set(transaction, fromFailure(failure));
  }
  return failed;
}

function instanceFailed(cause: QueueError): QueueError {
  if (cause.code === 'INSTANCE_FAILED' || cause.code === 'INSTANCE_FENCED') return cause;
  return new QueueError('INSTANCE_FAILED', {
    sentence: `The instance stopped: ${cause.message}. Open it again to recover; only then is it known whether commits under way are durable`,
    details: { cause: cause.code, ...cause.details },
    cause,
  });
}
