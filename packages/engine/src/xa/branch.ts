/** A branch in memory. `branch-life.ts` has the legal transitions as a table; only `apply` changes the state. */

import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import type { Xid } from '../api/xa.ts';
import type { Delivery } from '../log/delivery.ts';
import type { SessionNumber } from '../model/ids.ts';
import type { Timer } from '../model/ports.ts';
import { transactionKey, xidKey } from '../model/xid.ts';
import type { Acknowledgement } from '../queues/queue-engine.ts';
import type { ShardedTransaction } from '../queues/sharded-transaction.ts';
import { type BranchCommand, type BranchState, branchLife, branchStateNames } from './branch-life.ts';
import type { TightBranch } from './tight/tight-branch.ts';

/** The work of sessions in a branch that is not prepared. */
export interface BranchWork {
  /** The session that worked in it last. */
  session: SessionNumber;
  transaction: ShardedTransaction;
  /** Receipts that are checked when the branch is prepared or committed. */
  acknowledged: Acknowledgement[];
}

export interface PreparedContent {
  content: Uint8Array;
  /** It has changes to the application's rows: in the file only. */
  hasRows: boolean;
  /** The messages that the branch holds. */
  deliveries: Delivery[];
}

const openStates: ReadonlySet<BranchState> = new Set(['active', 'suspended', 'ended']);
const closedStates: ReadonlySet<BranchState> = new Set([
  'preparing',
  'prepared',
  'committingOnePhase',
  'committing',
  'rollingBack',
]);

export class Branch {
  readonly xid: Xid;
  readonly key: string;
  readonly transactionKey: string;
  /** Undefined once it is being written, and while a session works in it. */
  work: BranchWork | undefined;
  prepared: PreparedContent | undefined;
  /** Why it can only be rolled back. */
  rollbackCode: Extract<QueueErrorCode, `XA_RB${string}`> | undefined;
  /** Undefined of a loosely coupled branch. */
  tight: TightBranch | undefined;
  /** Keys of branches on other instances whose shipped work is part of this one. */
  readonly absorbed = new Set<string>();
  timeoutMs = 0;
  timer: Timer | undefined;
  #state: BranchState = 'nonexistent';

  constructor(xid: Xid) {
    this.xid = xid;
    this.key = xidKey(xid);
    this.transactionKey = transactionKey(xid);
  }

  get state(): BranchState {
    return this.#state;
  }

  /** Work can still become part of it. */
  get isOpen(): boolean {
    return openStates.has(this.#state) || this.waitsToPrepare;
  }

  /** Its prepare waits for the lock of the global transaction, and has not read the work yet. */
  get waitsToPrepare(): boolean {
    return this.#state === 'preparing' && this.work !== undefined;
  }

  /** Its work is complete: being prepared or prepared, or being ended after that. */
  get isClosed(): boolean {
    return closedStates.has(this.#state) && !this.waitsToPrepare;
  }

  can(command: BranchCommand): boolean {
    return branchLife.find(this.#state, command) !== undefined;
  }

  /** Throws `XAER_PROTO` if the command is illegal in its state, and `XA_RB…` where that is because it can only be rolled back. */
  apply(command: BranchCommand): void {
    const next = branchLife.find(this.#state, command);
    if (next !== undefined) {
      this.#state = next;
      return;
    }
    if (this.rollbackCode !== undefined) throw new QueueError(this.rollbackCode);
    throw new QueueError('XAER_PROTO', {
      message: `The branch refuses ${command}: its state is ${branchStateNames[this.#state]}`,
      details: { state: this.#state, call: command },
    });
  }
}
