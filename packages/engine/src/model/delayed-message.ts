import type { LogId, QueueId } from './ids.ts';

/** Delayed messages as they are stored until they are due. */
export interface DelayedRow {
  dueAtMs: number;
  /** Unique in the instance. */
  delayedId: number;
  queueId: QueueId;
  /** The log that the message is appended to when it is due. */
  shard: LogId;
  record: Uint8Array;
}

/** The primary key: messages are ordered by due time. */
export type DelayedKey = Pick<DelayedRow, 'dueAtMs' | 'delayedId'>;

export interface DueMessages {
  rows: DelayedRow[];
  /** Due time of the first delayed message that is not among `rows`; null if there is none. */
  nextDueAtMs: number | null;
}
