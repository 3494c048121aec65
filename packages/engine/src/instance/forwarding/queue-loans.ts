/** The loans of one queue at one instance: one for each shard that went elsewhere or came from there, with all its logs. */
import { logOf, ownerOf, priorityOf, returnedNo } from '../../core/shard-number.ts';
import type { LentRow } from '../../storage/forwarding-table.ts';
import type { GroupCommit } from '../group-commit.ts';
import type { ShardedQueue } from '../sharded-queue.ts';
import { Loan, type LoanHost } from './loan.ts';

export interface QueueLoansOptions {
  queue: ShardedQueue;
  instance: number;
  group: GroupCommit;
  /** What the file says of the queue. */
  rows: readonly LentRow[];
  host: LoanHost;
}

export class QueueLoans {
  readonly #options: QueueLoansOptions;
  readonly #loans = new Map<number, Loan>();
  #turn = 0;

  constructor(options: QueueLoansOptions) {
    this.#options = options;
    for (const { shard } of options.rows) this.of(shard);
    for (const { no } of options.queue.shards) if (this.isForeign(no)) this.of(logOf(no));
  }

  /** That of a shard, made if there is none. Also to be called when a log of the shard was made. */
  of(shard: number): Loan {
    const { queue, instance, group, rows, host } = this.#options;
    let loan = this.#loans.get(shard);
    if (loan === undefined) {
      loan = new Loan({
        name: { queueId: queue.row.queueId, shard },
        goesHome: ownerOf(shard) !== instance,
        group,
        sync: queue.row.durability === 'durable' ? 'FULL' : 'NORMAL',
        rows: rows.filter((each) => each.shard === shard),
        host,
      });
      this.#loans.set(shard, loan);
    }
    const logs = [returnedNo(shard), shard].flatMap((no) => queue.shard(no) ?? []);
    const { id } = queue.subscription(undefined);
    loan.setLogs(logs.flatMap((log) => log.reader(id) ?? []));
    return loan;
  }

  get(shard: number): Loan | undefined {
    return this.#loans.get(shard);
  }

  [Symbol.iterator](): Iterator<Loan> {
    return this.#loans.values();
  }

  get size(): number {
    return this.#loans.size;
  }

  /** Whether a log holds what came from another instance. */
  isForeign(no: number): boolean {
    return ownerOf(no) !== this.#options.instance || logOf(no) !== no;
  }

  get movedOut(): number {
    let moved = 0;
    for (const loan of this) moved += loan.movedOut;
    return moved;
  }

  /** Nothing of them is under way, and nothing waits elsewhere for its turn. */
  get areAtRest(): boolean {
    return [...this].every(({ state, busy }) => !busy && (state === 'home' || state === 'open'));
  }

  /** A shard with messages that may go to this peer: of the most urgent ones, one after the other. */
  nextFor(receiver: number): Loan | undefined {
    const own = this.#options.queue.shards.filter(({ no }) => !this.isForeign(no));
    this.#turn += 1;
    let found: Loan | undefined;
    for (let i = 0; i < own.length; i += 1) {
      const { no, backlog } = own[(this.#turn + i) % own.length]!;
      if (found !== undefined && priorityOf(no) <= priorityOf(found.name.shard)) continue;
      if (backlog === 0 && !this.#loans.has(no)) continue;
      const loan = this.of(no);
      const log = loan.nextLog;
      if (log === undefined || !loan.canLendTo(receiver)) continue;
      if (log.mustRead) void this.#options.host.read(log);
      else found = loan;
    }
    return found;
  }
}
