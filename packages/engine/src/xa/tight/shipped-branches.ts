/**
 * Work that branches on other instances have shipped to this one, their home, as copies in memory. The first branch of this
 * instance that prepares takes it over, and its prepared row has all of it. The other instance keeps its own work until
 * `prepareShipped` has answered who commits it, so a crash of either loses nothing and nothing is done twice.
 */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type {
  PrepareShippedAnswer,
  ShipAnswer,
  ShippedWork,
  WithdrawAnswer,
} from '../../model/home-calls.ts';
import type { QueueId } from '../../model/ids.ts';
import { hasNoRoutingFields } from '../../model/inspect-record.ts';
import { readRecord, recordEnd } from '../../model/message-record.ts';
import type { Timer, Timers } from '../../model/ports.ts';
import type { QueueRow } from '../../model/queue-row.ts';
import { validateStatement } from '../../model/sql-statement.ts';
import type { ShardedTransaction, ShardedTransactions } from '../../queues/sharded-transaction.ts';
import { shippedBytes } from './content-to-ship.ts';

/** Sessions of one other instance that share a shard here, so that what one session ships keeps its order: see `sessionHere`. */
const sessionsPerInstance = 64;

/** A branch of this instance. */
interface OwnBranch {
  readonly transactionKey: string;
  /** It can still take work over, when it prepares or commits in one phase. */
  readonly isOpen: boolean;
  /** True once the branch has taken over the shipped work and accepts no more. */
  readonly isClosed: boolean;
  readonly absorbed: Set<string>;
}

interface ShippedBranch {
  transactionKey: string;
  bytes: number;
  transaction: ShardedTransaction;
  /** Time limit of its own branch, which ends it there; here it is dropped after that time. */
  holdMs: number;
  /** The branch was answered that its work is taken: a branch of this instance that cannot take it must fail. */
  isPromised: boolean;
  timer: Timer;
}

export interface ShippedBranchesOptions {
  transactions: ShardedTransactions;
  timers: Pick<Timers, 'after'>;
  /** The queue if it exists. */
  findQueue(queueId: QueueId): QueueRow | undefined;
  /** Throws `SQL_ELSEWHERE` unless the application's tables are in this instance's file. */
  assertHasTables(): void;
  /** The branches of a global transaction on this instance. */
  branchesOf(transactionKey: string): OwnBranch[];
}

export class ShippedBranches {
  readonly #options: ShippedBranchesOptions;
  /** Shipped work by branch. */
  readonly #shipped = new Map<string, ShippedBranch>();
  #bytes = 0;
  /** False once the instance is to leave the cluster. */
  acceptsMessages = true;

  constructor(options: ShippedBranchesOptions) {
    this.#options = options;
  }

  /** Number of shipped branches whose work no branch has taken over yet. */
  get size(): number {
    return this.#shipped.size;
  }

  ship(transactionKey: string, key: string, work: ShippedWork, holdMs: number): ShipAnswer {
    const { branchesOf, transactions, timers } = this.#options;
    this.#drop(key);
    if (!this.acceptsMessages || this.#shipped.size >= limits.branchesMax) return 'refused';
    if (branchesOf(transactionKey).some(({ isClosed }) => isClosed)) return 'refused';
    const bytes = shippedBytes(work);
    if (this.#bytes + bytes > limits.shippedBytesMax) return 'refused';
    const transaction = transactions.beginTransaction(sessionHere(work), undefined);
    try {
      for (const run of work.runs) this.#enqueue(transaction, run);
      if (work.statements.length > 0) this.#options.assertHasTables();
      for (const { sql, parameters } of work.statements) {
        const { statement, bytes } = validateStatement(sql, parameters);
        transaction.statements.execute(statement, bytes);
      }
    } catch (error) {
      if (error instanceof QueueError) return 'refused'; // the branch's own instance reports the error
      throw error;
    }
    const timer = timers.after(holdMs, () => this.#onTimeout(key));
    this.#shipped.set(key, { transactionKey, bytes, transaction, holdMs, isPromised: false, timer });
    this.#bytes += bytes;
    return 'accepted';
  }

  #enqueue(transaction: ShardedTransaction, { queueId, count, records }: ShippedWork['runs'][number]): void {
    const row = this.#options.findQueue(queueId);
    if (row === undefined) throw new QueueError('QUEUE_DROPPED');
    if (!row.enqueueEnabled) throw new QueueError('ENQUEUE_STOPPED', { details: { queue: row.name } });
    const source = Buffer.from(records, 'base64');
    const starts: number[] = [];
    for (let start = 0; start < source.length; start = recordEnd(source, start)) starts.push(start);
    if (starts.every((start) => hasNoRoutingFields(source, start)))
      transaction.enqueueRecords(row, { source, start: 0, end: source.length, count });
    else for (const start of starts) transaction.enqueue(row, readRecord(source, start));
  }

  prepareShipped(transactionKey: string, key: string): PrepareShippedAnswer {
    const branches = this.#options.branchesOf(transactionKey);
    if (branches.some(({ absorbed }) => absorbed.has(key))) return 'taken';
    const shipped = this.#shipped.get(key);
    if (shipped === undefined) return 'unknown';
    if (branches.some(({ isOpen }) => isOpen)) {
      shipped.isPromised = true;
      return 'taken';
    }
    this.#drop(key);
    return 'not taken';
  }

  withdraw(transactionKey: string, key: string): WithdrawAnswer {
    const branches = this.#options.branchesOf(transactionKey);
    if (branches.some(({ absorbed }) => absorbed.has(key))) return 'absorbed';
    this.#drop(key);
    return 'withdrawn';
  }

  /**
   * Adds what was shipped to the transaction of a branch that prepares or commits. Throws `TX_TOO_LARGE` and what keeps a message
   * from being prepared, if the work was promised; else it is left to its own instance.
   */
  giveTo(branch: OwnBranch, transaction: ShardedTransaction): void {
    for (const [key, shipped] of this.#shipped) {
      if (shipped.transactionKey !== branch.transactionKey) continue;
      try {
        transaction.absorb(shipped.transaction);
      } catch (error) {
        if (!(error instanceof QueueError) || shipped.isPromised) throw error;
        continue;
      }
      branch.absorbed.add(key);
      this.#drop(key);
    }
  }

  /**
   * Promised work is nowhere else any more: its own branch has ended. It is kept while a branch here can take it over, which that
   * branch's own time limit bounds.
   */
  #onTimeout(key: string): void {
    const shipped = this.#shipped.get(key)!;
    const branches = this.#options.branchesOf(shipped.transactionKey);
    if (shipped.isPromised && branches.some(({ isOpen }) => isOpen))
      shipped.timer = this.#options.timers.after(shipped.holdMs, () => this.#onTimeout(key));
    else this.#drop(key);
  }

  #drop(key: string): void {
    const shipped = this.#shipped.get(key);
    if (shipped === undefined) return;
    shipped.timer.cancel();
    this.#bytes -= shipped.bytes;
    this.#shipped.delete(key);
  }

  close(): void {
    for (const { timer } of this.#shipped.values()) timer.cancel();
  }
}

/**
 * A session number of this instance for one of another, not used by any session: at most 64 for each instance, since each is bound
 * to a shard for as long as the instance is open.
 */
function sessionHere({ instance, session }: ShippedWork): number {
  return -(instance * sessionsPerInstance + (session % sessionsPerInstance));
}
