/** Messages between the elected writer of grouped unsharded queues and the other processes, in V8's serialization. */
import type { QueueId, TransactionNumber } from '../model/ids.ts';
import type { OperationAnswer, WriteBatch } from '../storage/unsharded/write-group.ts';

/** The results of a batch. */
export interface BatchAnswer {
  number: TransactionNumber;
  answers: OperationAnswer[];
  /** How long the group was written and synced, milliseconds. */
  writeMs: number;
}

/** A message from the writer. */
export interface WriterMessage {
  answer?: BatchAnswer;
  /** Queues that have got messages; null: perhaps all. */
  readyQueues: readonly QueueId[] | null;
}

/** A message from another process: one batch at a time. */
export type ClientMessage = WriteBatch;
