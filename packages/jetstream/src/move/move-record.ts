/** How far the move of a queue is, in the metadata of its stream. */
import type { StreamInfo } from '@nats-io/jetstream';

export interface MoveRecord {
  /** `copying`: the local queue has all messages. `switched`: the stream has, and is in use. */
  phase: 'copying' | 'switched';
  /** Counts of the local queue once it was stopped, by which it is known from a later one of the same name. */
  enqueued: number;
  consumed: number;
  /** How each local queue was before it was stopped, for a move that is continued and then fails. */
  enabled: Record<string, Enabled>;
}

export interface Enabled {
  enqueue: boolean;
  dequeue: boolean;
}

const key = 'shardlab-move';

export function moveRecordOf({ config: { metadata = {} } }: StreamInfo): MoveRecord | undefined {
  const text = metadata[key];
  return text === undefined ? undefined : (JSON.parse(text) as MoveRecord);
}

export function withMoveRecord(record: MoveRecord): Record<string, string> {
  return { [key]: JSON.stringify(record) };
}

const leaveKey = 'shardlab-leave';

/** Phase of a move to the local engine. `copying`: the stream has all messages. `switched`: the local queue has them. */
export type LeavePhase = 'copying' | 'switched';

export interface LeaveRecord {
  phase: LeavePhase;
  /** In the idempotency keys of the copy, so that a move after one that was undone copies anew. */
  attempt: string;
}

/** Undefined if no move is under way: none was begun, or it was undone. */
export function leaveRecordOf({ config: { metadata = {} } }: StreamInfo): LeaveRecord | undefined {
  const text = metadata[leaveKey];
  return text?.startsWith('{') ? (JSON.parse(text) as LeaveRecord) : undefined;
}

/** Null: the move was undone. */
export function withLeaveRecord(record: LeaveRecord | null): Record<string, string> {
  return { [leaveKey]: record === null ? '' : JSON.stringify(record) };
}
