import type { LogId, QueueId, Seq } from './ids.ts';
import { bufferOf, readRecord } from './message-record.ts';

/** Delayed messages as they are stored until they are due. */
export interface DelayedRow {
  /** Time of the delay clock (`delay-clock.ts`). */
  dueAtMs: number;
  /** Unique in the instance. */
  delayedId: Seq;
  queueId: QueueId;
  /** The log that the message is appended to when it is due. */
  shard: LogId;
  record: Uint8Array;
}

/** When the message was enqueued, by the clock of its due time. */
export const delayedSinceMs = ({ dueAtMs, record }: DelayedRow): number =>
  dueAtMs - (readRecord(bufferOf(record), 0).delayMs ?? 0);

/** The primary key: messages are ordered by due time. */
export type DelayedKey = Pick<DelayedRow, 'dueAtMs' | 'delayedId'>;

export interface DueMessages {
  rows: DelayedRow[];
  /** Due time of the first delayed message that is not among `rows`; null if there is none. */
  nextDueAtMs: number | null;
}
