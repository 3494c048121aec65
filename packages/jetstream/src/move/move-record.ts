/** How far the move of a queue is, in the metadata of its stream. */
import type { StreamInfo } from '@nats-io/jetstream';

export interface MoveRecord {
  /** `copying`: the local queue has all messages. `switched`: the stream has, and is in use. */
  phase: 'copying' | 'switched';
  /** Counts of the local queue once it was stopped, by which it is known from a later one of the same name. */
  enqueued: number;
  consumed: number;
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

export function leaveRecordOf({ config: { metadata = {} } }: StreamInfo): LeavePhase | undefined {
  return metadata[leaveKey] as LeavePhase | undefined;
}

export function withLeaveRecord(phase: LeavePhase): Record<string, string> {
  return { [leaveKey]: phase };
}
