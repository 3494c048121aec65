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
