/** The messages that a process holds: those that it claimed, and has neither consumed nor returned. */
import type { QueueId, Seq, SubscriberId } from '../model/ids.ts';
import type { HeldMessage, MessageConsumer, RecipientKey } from '../storage/unsharded/message-consumer.ts';

type OfConsumer = Map<Seq, RecipientKey | undefined>;

export class HeldMessages {
  readonly #byQueue = new Map<QueueId, Map<SubscriberId, OfConsumer>>();

  add({ queueId, subscriber }: MessageConsumer, messages: readonly Omit<HeldMessage, 'queueId'>[]): void {
    const held = this.#of(queueId, subscriber);
    for (const { id, recipient } of messages) held.set(id, recipient);
  }

  #of(queueId: QueueId, subscriber: SubscriberId): OfConsumer {
    let ofQueue = this.#byQueue.get(queueId);
    if (ofQueue === undefined) {
      ofQueue = new Map();
      this.#byQueue.set(queueId, ofQueue);
    }
    let held = ofQueue.get(subscriber);
    if (held === undefined) {
      held = new Map();
      ofQueue.set(subscriber, held);
    }
    return held;
  }

  delete(messages: readonly HeldMessage[]): void {
    for (const { queueId, id, recipient } of messages) {
      const subscriber = recipient?.subscriber ?? 0;
      const ofQueue = this.#byQueue.get(queueId);
      const held = ofQueue?.get(subscriber);
      held?.delete(id);
      // A temporary subscriber may have ended with it.
      if (held?.size === 0) ofQueue!.delete(subscriber);
    }
  }

  deleteQueue(queueId: QueueId): void {
    this.#byQueue.delete(queueId);
  }

  all(): HeldMessage[] {
    const all: HeldMessage[] = [];
    for (const [queueId, ofQueue] of this.#byQueue)
      for (const held of ofQueue.values())
        for (const [id, recipient] of held) all.push({ queueId, id, recipient });
    return all;
  }
}
