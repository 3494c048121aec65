/** Requests to the reader thread of an instance, and its answers. Each read sees one snapshot of the file. */

import type { CorrelationSearch } from './correlation-key.ts';
import type { DelayedKey, DelayedRow, DueMessages } from './delayed-message.ts';
import type { EvacuatedKey, EvacuatedRow } from './evacuated-message.ts';
import type { IdempotencyKeyRow } from './idempotency-key.ts';
import type { PartitionId, QueueId, RequestNumber, Seq } from './ids.ts';
import type { ChunkKey } from './payload-chunk.ts';
import type { StorageFailure } from './storage-failure.ts';

/** Requests whole blocks of one partition, starting with the one that holds `fromSeq`, up to about `bytesMax`. */
export interface BlocksRequest {
  kind: 'blocks';
  partition: PartitionId;
  fromSeq: Seq;
  bytesMax: number;
}

/** Whole blocks of one partition that may have a message with a correlation id: see `searchCorrelatedBlocks`. */
export interface CorrelationSearchRequest extends CorrelationSearch {
  kind: 'search';
}

/** Delayed messages that are due, up to about `bytesMax`. */
export interface DueRequest {
  kind: 'due';
  nowMs: number;
  bytesMax: number;
}

/** The evacuated messages of one subscriber of one log. */
export interface EvacuatedRequest extends Omit<EvacuatedKey, 'seq'> {
  kind: 'evacuated';
}

/** Delayed messages of a queue behind a key, due or not, up to about `bytesMax`. */
export interface DelayedRequest {
  kind: 'delayed';
  queueId: QueueId;
  after: DelayedKey;
  bytesMax: number;
}

/** One chunk of a streamed payload. */
export interface ChunkRequest extends ChunkKey {
  kind: 'chunk';
}

/** Requests the row that was committed under an idempotency key. */
export interface IdempotencyKeyRequest {
  kind: 'idempotency key';
  key: string;
}

export type ReadRequest = { id: RequestNumber } & ReadOperation;

export type ReadOperation =
  | BlocksRequest
  | CorrelationSearchRequest
  | DueRequest
  | EvacuatedRequest
  | DelayedRequest
  | ChunkRequest
  | IdempotencyKeyRequest;

export interface ReadBlock {
  firstSeq: Seq;
  count: number;
  body: Uint8Array;
}

/** The result of each kind of request. */
export interface ReadResults {
  /** `more`: the partition may hold more blocks behind these. */
  blocks: { blocks: ReadBlock[]; more: boolean };
  search: ReadResults['blocks'];
  due: DueMessages;
  evacuated: EvacuatedRow[];
  delayed: { rows: DelayedRow[]; more: boolean };
  /** `body` is undefined if the chunk does not exist. */
  chunk: { body: Uint8Array | undefined };
  'idempotency key': { row: IdempotencyKeyRow | undefined };
}

/** Reads from an instance's file beside its commits. Rejects with the storage error if a read fails. */
export interface FileReader {
  read<R extends ReadOperation>(request: R): Promise<ReadResults[R['kind']]>;
  close(): Promise<void>;
}

export interface ReadReply {
  id: RequestNumber;
  result: ReadResults[keyof ReadResults] | null;
  failure: StorageFailure | null;
}
