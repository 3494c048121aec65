/** Wakes sessions for messages that have become ready. Call it after the messages were counted. */
import type { SlotNumber } from '../model/ids.ts';
import type { BroadcastChannel } from './broadcast-channel.ts';
import type { QueueMemory } from './queue-memory.ts';

export interface AnnounceOptions {
  memory: QueueMemory;
  channel: BroadcastChannel;
  /** Called after waking the sessions that wait for a subscriber, before those that listen. */
  onPost?(): void;
}

/** Wakes the sessions that wait for messages of one of the subscribers, and all that listen. */
export function announce(slots: readonly SlotNumber[], { memory, channel, onPost }: AnnounceOptions): void {
  for (let session = 1; session <= memory.shape.sessionsMax; session += 1) {
    const waitsFor = memory.load(memory.session(session, 'waitsFor'));
    if (waitsFor > 0 && slots.includes(waitsFor - 1)) memory.wake(session);
  }
  onPost?.();
  channel.post();
}
