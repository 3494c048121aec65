/**
 * XA: an instance as a resource manager of distributed transactions, with the words and codes of the X/Open specification
 * "Distributed Transaction Processing: The XA Specification". `docs/decisions/xa.md` says what a branch is on disk.
 */
import type { QueueErrorCode } from './errors.ts';

/** Names a branch of a global transaction. Each part is opaque: equal bytes name the same. */
export interface Xid {
  /** 0 to 2,147,483,647. */
  formatId: number;
  /** Global transaction id, 1 to 64 bytes. */
  gtrid: Uint8Array;
  /** Branch qualifier, 1 to 64 bytes. */
  bqual: Uint8Array;
}

export interface XaStartOptions {
  /** `join`: continues work in a branch that was ended; `resume`: in one that this session suspended. Default: a new branch. */
  flag?: 'join' | 'resume';
  /** For a new branch: it is rolled back unless it is prepared or committed within this time; 1 to 86,400,000 ms, default 60,000. */
  timeoutMs?: number;
  /**
   * For a new branch. `tight`: only one branch of the global transaction has a call under way at a time, over all instances. A
   * branch that only enqueues ships its messages to the transaction's home instance when it ends, and they are stored there.
   * Default `loose`: each branch is on its own.
   */
  coupling?: 'loose' | 'tight';
  /**
   * The home instance of a tightly coupled transaction, 1 to 64: the same for all its branches, and served where it is not this one.
   * Default: the instance of this branch.
   */
  home?: number;
  /** How long a call of a tightly coupled branch waits for the lock of its transaction, 1 to 60,000 ms, default 5,000. */
  lockWaitMs?: number;
  /**
   * When a tightly coupled branch has the lock: during its calls (default), or from its start to its end, while it is suspended too, so
   * that no other branch of the transaction is active.
   */
  lock?: 'call' | 'branch';
}

/** How a session ends its work in a branch: `fail` lets the branch be rolled back only. */
export type XaEnd = 'success' | 'fail' | 'suspend';

/** `read-only`: the branch has no work of its own that needs a commit; it is forgotten and the commit must not name it. */
export type XaVote = 'ok' | 'read-only';

/** Which instance a call about a branch is for. */
export interface XaBranchPlace {
  /**
   * The instance that has the branch, 1 to 64. Default: the one that is called. Any other instance passes the call on over the
   * interconnect and returns that instance's answer; both must be served, and belong to one cluster. `XAER_RMFAIL`: no answer
   * came within 10 s, and the call may have taken effect.
   */
  instance?: number;
}

export interface XaCommitOptions extends XaBranchPlace {
  /** The branch has ended and is not prepared. */
  onePhase?: boolean;
}

/**
 * The calls of a transaction manager to a resource manager about branches that have ended. Errors are `QueueError`s whose codes
 * are those of the specification; `xaCodes` has their numbers.
 */
export interface XaResource {
  /**
   * Runs the statements of the branch, and waits for rows that another branch has locked, at most `sqlLockMsMax` (`XA_RBTIMEOUT`,
   * `XA_RBDEADLOCK`). When it resolves with `ok`, the branch is on disk and its rows are locked: after any crash it is still
   * committed or rolled back as the transaction manager decides. Rejects with `XA_RB…` if the branch was rolled back instead,
   * `XAER_NOTA`, `XAER_PROTO`, and with `XAER_RMFAIL` if the instance ended during the call, so that only `recover` shows the
   * outcome.
   */
  prepare(xid: Xid, place?: XaBranchPlace): Promise<XaVote>;
  /**
   * Commits a prepared branch, or with `onePhase` one that has ended and is not prepared. Rejects with `XAER_NOTA` (also for
   * one that is committed already), `XAER_PROTO`, `XA_RETRY` (it stays prepared: call again), `XAER_RMFAIL`, and in one phase with
   * `XA_RB…`.
   */
  commit(xid: Xid, options?: XaCommitOptions): Promise<void>;
  /** Rolls back a branch that is not active, prepared or not. Rejects with `XAER_NOTA`, `XAER_PROTO`, `XAER_RMFAIL`. */
  rollback(xid: Xid, place?: XaBranchPlace): Promise<void>;
  /** The branches in doubt of this instance: prepared, and neither committed nor rolled back. */
  recover(): Promise<Xid[]>;
  /** No branch is ever completed heuristically: rejects with `XAER_NOTA`, or `XAER_PROTO` if there is a branch of this name. */
  forget(xid: Xid): Promise<void>;
}

/**
 * A session's part in distributed transactions. A call of a tightly coupled branch, a dequeue included, also rejects with `XA_RBTIMEOUT` if it
 * waited too long for the lock of the transaction, `XA_RBDEADLOCK` if it must not wait, and `XA_RBCOMMFAIL` if the home instance
 * does not answer: then the branch can only be rolled back, and after `start` there is none.
 */
export interface XaSession extends XaResource {
  /**
   * The home instance of the branch that the session works in; undefined if it works in none, or in a loosely coupled one. A remote
   * session knows it of a branch that it has started, and not of one that it has joined or resumed.
   */
  readonly home: number | undefined;
  /**
   * The session's work belongs to the branch until `end`; its own commit and rollback are refused meanwhile (`XAER_PROTO`).
   * Rejects with `XAER_DUPID`, `XAER_NOTA`, `XAER_OUTSIDE` (the session has work of a local transaction), `XAER_PROTO`,
   * `XAER_INVAL`, `XAER_RMFAIL` (the home instance does not answer), `XA_RBTIMEOUT`, `XA_RBDEADLOCK`.
   */
  start(xid: Xid, options?: XaStartOptions): Promise<void>;
  /**
   * Rejects with `XAER_NOTA`, `XAER_PROTO`, and with `XA_RB…` if the branch can only be rolled back. A remote session sends
   * what it has staged with it: if that is refused, with the same errors as a commit, the branch can only be rolled back.
   */
  end(xid: Xid, how?: XaEnd): Promise<void>;
  /**
   * Sends what the session has staged in the branch to its instance, in one round trip; `end` does the same for what is left. If it
   * is refused, with the same errors as a commit or as a call that has not got the lock, the branch has ended and can only be
   * rolled back. An embedded session has nothing to send. Rejects with `XAER_NOTA`, `XAER_PROTO`.
   */
  flush(xid: Xid): Promise<void>;
}

/** The specification's numbers of the codes, for a transaction manager that wants them. */
export const xaCodes = {
  XA_RBROLLBACK: 100,
  XA_RBCOMMFAIL: 101,
  XA_RBDEADLOCK: 102,
  XA_RBINTEGRITY: 103,
  XA_RBOTHER: 104,
  XA_RBTIMEOUT: 106,
  XA_RETRY: 4,
  XAER_RMERR: -3,
  XAER_NOTA: -4,
  XAER_INVAL: -5,
  XAER_PROTO: -6,
  XAER_RMFAIL: -7,
  XAER_DUPID: -8,
  XAER_OUTSIDE: -9,
} as const satisfies Partial<Record<QueueErrorCode, number>>;
