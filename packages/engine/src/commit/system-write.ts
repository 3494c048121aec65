/**
 * A write of the engine itself, in a group with the sessions' transactions: rows of its tables (attempts, subscriptions, samples,
 * chunks of payloads), and messages that it moves (due, evacuated, forwarded, exhausted).
 */
import type { Delivery } from '../log/delivery.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { SeqRange } from '../model/consumption.ts';
import type { TableWrite } from '../model/table-write.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import type { StagedRun, StagedSql, StagedTransaction, SyncMode } from './staged-transaction.ts';

export interface SystemWrite {
  readonly kind: 'system write';
  readonly runs: readonly StagedRun[];
  /** Held messages that the write consumes. */
  readonly deliveries: readonly Delivery[];
  readonly bytes: number;
  readonly sync: SyncMode;
  /** Called when the group closes, before its messages are numbered: the rows to write. */
  readonly onClose: (() => readonly TableWrite[]) | undefined;
  /** Called once the messages have numbers and partitions, before they are visible; returns further rows to write. */
  readonly onNumbered: (() => readonly TableWrite[]) | undefined;
  /** Called when the group is durable, before any caller is resumed. */
  readonly onDurable: (() => void) | undefined;
  /** Filled by `onClose`: what becomes terminal in its partition without being consumed. */
  readonly terminalRanges: ReadonlyMap<SubscriberCursor, readonly SeqRange[]> | undefined;
  /** A branch of a distributed transaction with rows of the application: it can fail alone. */
  readonly sql: StagedSql | undefined;
  /** Its group has no other member, and no other group is in flight meanwhile. */
  readonly exclusive: boolean;
  /** No session waits for it: it counts neither as a commit nor as a wait. */
  readonly background: boolean;
  /** Time book of the session that waits for the write, if it is to record the wait. */
  readonly time: RecordedTime | undefined;
}

/** One member of a group. */
export type GroupMember = StagedTransaction | SystemWrite;

export type SystemWriteInput = Pick<SystemWrite, 'sync'> & Partial<Omit<SystemWrite, 'kind'>>;

export function newSystemWrite({
  runs = [],
  deliveries = [],
  bytes = 0,
  sync,
  onClose,
  onNumbered,
  onDurable,
  terminalRanges,
  sql,
  exclusive = false,
  background = false,
  time,
}: SystemWriteInput): SystemWrite {
  return {
    kind: 'system write',
    runs,
    deliveries,
    bytes,
    sync,
    onClose,
    onNumbered,
    onDurable,
    terminalRanges,
    sql,
    exclusive,
    background,
    time,
  };
}
