/** Tells sessions of messages that are ready now. To be called after they were counted. */
import type { SlotNumber } from '../model/ids.ts';
import type { BroadcastChannel } from './broadcast-channel.ts';
import type { QueueMemory } from './queue-memory.ts';

export interface AnnounceOptions {
  memory: QueueMemory;
  channel: BroadcastChannel;
  /** Called after waking the sessions that wait for a subscriber, before those that listen. */
  onPost?(): void;
}

/** Wakes those who wait for messages of one of the subscribers, and all who listen. */
export function announce(slots: readonly SlotNumber[], { memory, channel, onPost }: AnnounceOptions): void {
  for (let session = 1; session <= memory.shape.sessionsMax; session += 1) {
    const waitsFor = memory.load(memory.session(session, 'waitsFor'));
    if (waitsFor > 0 && slots.includes(waitsFor - 1)) memory.wake(session);
  }
  onPost?.();
  channel.post();
}
