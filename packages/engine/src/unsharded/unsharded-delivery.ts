/** A message that was delivered to a session of this process. */
import type { QueueId, Seq } from '../model/ids.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { MessageKey, RecipientKey } from '../storage/unsharded/message-consumer.ts';
import type { ClaimedRow } from '../storage/unsharded/unsharded-file.ts';

/** Its public fields are those of its key, which travels to the process that writes; the others are of this process alone. */
export class UnshardedDelivery implements MessageKey {
  readonly queueId: QueueId;
  readonly id: Seq;
  readonly crc: number;
  readonly recipient: RecipientKey | undefined;
  readonly #queue: QueueRow;
  readonly #subscriber: string;
  readonly #deliveryCount: number;

  /** `subscriber`: its name; empty for a queue. The count has this delivery. */
  constructor(queue: QueueRow, subscriber: string, { id, crc, recipient, deliveryCount }: ClaimedRow) {
    this.queueId = queue.queueId;
    this.id = id;
    this.crc = crc;
    this.recipient = recipient;
    this.#queue = queue;
    this.#subscriber = subscriber;
    this.#deliveryCount = deliveryCount;
  }

  get queue(): QueueRow {
    return this.#queue;
  }

  get subscriber(): string {
    return this.#subscriber;
  }

  get deliveryCount(): number {
    return this.#deliveryCount;
  }
}
