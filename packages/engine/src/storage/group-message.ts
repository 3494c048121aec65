/** What the session thread and the two storage threads say to each other. */
import type { QueueErrorCode } from '../core/errors.ts';
import type { SqlStatement } from '../core/sql-statement.ts';
import type { SqlResult } from '../types.ts';
import type { AttemptRow } from './attempt-table.ts';
import type { SearchPlace } from './correlation-index.ts';
import type { DelayedPlace, DelayedRow, DueMessages } from './delayed-table.ts';
import type { BorrowedRow, LentRow } from './forwarding-table.ts';
import type { ChunkPlace, RecoveredPayloads } from './payload-table.ts';
import type { OutcomeRow } from './session-outcome.ts';
import type { SideChange } from './side-change.ts';
import type { StragglerKey, StragglerRow } from './straggler-table.ts';
import type { SubscriptionRow } from './subscription-table.ts';

/** A run of messages for one partition; its bytes lie in the group's buffer. */
export interface BlockEntry {
  partition: number;
  firstSeq: number;
  count: number;
  offset: number;
  length: number;
}

/** What became terminal in one partition: encoded ranges, counted from the partition's first sequence number. */
export interface DeltaEntry {
  partition: number;
  subscriber: number;
  offset: number;
  length: number;
}

export interface AssignEntry {
  partition: number;
  queueId: number;
  shard: number;
  firstSeq: number;
  /** It gets a local index on correlation ids. */
  indexed: boolean;
}

/** Changes to the pool that ride in a group. Each is repeated by a later group if this one fails. */
export interface PoolChanges {
  /** Tables to make. */
  create: number[];
  assign: AssignEntry[];
  /** Partitions to empty and return to the pool. */
  truncate: number[];
}

/** How transactions of remote sessions ended, in the group's buffer; `session-outcome.ts` lays them out. */
export interface OutcomeEntries {
  offset: number;
  /** 0: no row is added. */
  length: number;
  /** Rows of this group and those before it are removed; 0: none. */
  retired: number;
}

/** Ranges that become terminal in one partition, encoded as in a delta. */
export interface Delta {
  partition: number;
  subscriber: number;
  ranges: number[];
}

/** A transaction with statements of the application. The rest of it is written only if they succeed. */
export interface SqlTransaction {
  statements: SqlStatement[];
  blocks: BlockEntry[];
  deltas: Delta[];
  side: SideChange[];
  /** Its part of `outcomes`; null: nobody will ask. */
  outcome: { offset: number; length: number } | null;
  /** Written instead if they fail: the numbers of its messages are terminal for everyone. */
  gaps: Delta[];
}

/** How the statements of a transaction ended. */
export interface SqlOutcome {
  results: SqlResult[];
  /** Not null: nothing of the transaction is done. */
  failure: StorageFailure | null;
}

export interface Group {
  kind: 'group';
  no: number;
  /** Raised by the session thread after a failure; the writer refuses groups that were built before it. */
  generation: number;
  sync: 'FULL' | 'NORMAL';
  buffer: SharedArrayBuffer;
  blocks: BlockEntry[];
  deltas: DeltaEntry[];
  outcomes: OutcomeEntries;
  /** Rarely used; empty in most groups. */
  side: SideChange[];
  /** Those with statements, in commit order; what they hold is not in the lists above. */
  sql: SqlTransaction[];
  pool: PoolChanges;
}

/** Of a session that holds the writer. The first statement begins its transaction, which the next group goes on in. */
export type HoldRequest = { kind: 'statement'; statement: SqlStatement } | { kind: 'release' };

export type WriterRequest = Group | HoldRequest | { kind: 'close' };

/** What a statement of a held transaction came to. */
export interface StatementAnswer {
  outcome: SqlOutcome;
  /** Not null: storage failed, and all of the transaction is undone. */
  lost: StorageFailure | null;
}

export interface StorageFailure {
  code: QueueErrorCode;
  message: string;
  details: Record<string, unknown>;
  /** After a failed sync or a damaged file nothing more is written: the instance must be opened again. */
  fatal: boolean;
}

export interface GroupResult {
  kind: 'group';
  no: number;
  generation: number;
  failure: StorageFailure | null;
  /** Partitions that were to be emptied and are too damaged for it. */
  unusable: number[];
  /** One for each of the group's `sql`; empty if the group failed. */
  sql: SqlOutcome[];
  /** Time spent on assigning, making and truncating partitions, and from there to the end of the sync. */
  maintenanceMs: number;
  commitMs: number;
  /** CPU time of the writer thread since it started, microseconds. */
  cpuUs: number;
}

export type WriterReply =
  | { kind: 'opened'; recovered: RecoveredInstance; cpuUs: number }
  | { kind: 'failed'; failure: StorageFailure }
  | GroupResult
  /** An answer lies in shared memory. Answers no request by itself. */
  | { kind: 'look' }
  | ({ kind: 'statement' } & StatementAnswer)
  /** The file took its last group: the instance must end. Answers no request. */
  | { kind: 'broken'; failure: StorageFailure }
  | { kind: 'closed' };

export interface RecoveredPartition {
  partition: number;
  queueId: number;
  shard: number;
  firstSeq: number;
  /** End of the last message in it, exclusive. */
  endSeq: number;
  bytes: number;
  /** Messages in it; numbers of its range that are none are gaps. */
  messages: number;
  /** Encoded ranges of what is terminal, as in a delta, in any order; subscriber 0 means for everyone. */
  terminal: { subscriber: number; ranges: Uint8Array }[];
  attempts: AttemptRow[];
  /** Why it cannot be relied on, in words; null while all is well. */
  damage: string | null;
  /** Of a damaged one that was filling: nothing is known of this number and those above it. */
  unknownFrom: number | null;
}

export interface RecoveredInstance {
  epoch: number;
  free: number[];
  /** Free, but damaged: never used again. */
  unusable: number[];
  /** Ordered by shard, then by sequence. */
  partitions: RecoveredPartition[];
  outcomes: OutcomeRow[];
  subscriptions: SubscriptionRow[];
  lent: LentRow[];
  borrowed: BorrowedRow[];
  /** By queue: how many delayed messages there are. */
  delayed: Map<number, number>;
  nextDueAtMs: number | null;
  stragglers: StragglerRow[];
  payloads: RecoveredPayloads;
}

/** Whole blocks of one partition from the one that holds `fromSeq` on, up to about `bytesMax`. */
export interface BlocksRequest {
  kind: 'blocks';
  partition: number;
  fromSeq: number;
  bytesMax: number;
}

/** Whole blocks of one partition that may have a message of a correlation id: see `searchBlocks`. */
export interface SearchRequest extends SearchPlace {
  kind: 'search';
}

/** Delayed messages that are due, up to about `bytesMax`. */
export interface DueRequest {
  kind: 'due';
  nowMs: number;
  bytesMax: number;
}

/** The stragglers of one reader. */
export interface StragglersRequest extends Omit<StragglerKey, 'seq'> {
  kind: 'stragglers';
}

/** Delayed messages of a queue behind a place, whether due or not, up to about `bytesMax`. */
export interface DelayedRequest {
  kind: 'delayed';
  queueId: number;
  after: DelayedPlace;
  bytesMax: number;
}

/** One chunk of a streamed payload. */
export interface ChunkRequest extends ChunkPlace {
  kind: 'chunk';
}

/** What the reader thread is asked for, one snapshot each. */
export type ReadRequest = { id: number } & AnyRead;
export type AnyRead =
  | BlocksRequest
  | SearchRequest
  | DueRequest
  | StragglersRequest
  | DelayedRequest
  | ChunkRequest;

export interface ReadBlock {
  firstSeq: number;
  count: number;
  body: Uint8Array;
}

/** What the request of a kind answers. */
export interface ReadResults {
  /** `more`: the partition may hold blocks behind these. */
  blocks: { blocks: ReadBlock[]; more: boolean };
  search: ReadResults['blocks'];
  due: DueMessages;
  stragglers: StragglerRow[];
  delayed: { rows: DelayedRow[]; more: boolean };
  /** `body` is undefined if it is not there. */
  chunk: { body: Uint8Array | undefined };
}

export interface ReadReply {
  id: number;
  result: ReadResults[keyof ReadResults] | null;
  failure: StorageFailure | null;
}
