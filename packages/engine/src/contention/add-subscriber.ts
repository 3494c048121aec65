/**
 * Adds a subscriber to the topic of a shared queue and to the shared table. The table is changed at once, and the topic by calls that
 * take time and may overtake those of other sessions. So a row is filled only once no eviction can still end its subscription.
 */
import type { QueueObject } from './queue-object.ts';
import { assertNameFits } from './subscriber-table.ts';

export interface AddedSubscriber {
  name: string;
  temporary: boolean;
  /** Does nothing if there is such a subscriber. */
  subscribe(): Promise<unknown>;
  unsubscribe(evicted: string): Promise<unknown>;
}

/** An eviction that lasts longer than so many round trips to the instance has ended with its thread. */
const subscribesMax = 100;

/** Evicts an idle temporary subscriber if the table is full. Throws `OPTIONS_INVALID`, `SUBSCRIBERS_FULL`. */
export async function addSubscriber(object: QueueObject, added: AddedSubscriber): Promise<void> {
  const { name, temporary } = added;
  assertNameFits(name);
  const { slot, evicted } = object.changeRows((table) => table.reserve(name));
  try {
    if (evicted !== undefined) {
      await added.unsubscribe(evicted);
      object.changeRows((table) => table.claim(slot, name));
    }
    for (let subscribes = 1; ; subscribes += 1) {
      await added.subscribe();
      const isSure = subscribes === subscribesMax;
      if (object.changeRows((table) => table.fill(slot, { temporary, isSure }))) return;
    }
  } catch (error) {
    object.changeRows((table) => table.release(slot));
    throw error;
  }
}
