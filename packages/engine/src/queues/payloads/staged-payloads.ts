/** The messages of one group member that have a payload in chunks. Which message has which payload is written with them. */

import type { PayloadHooks, StagedRun } from '../../commit/staged-transaction.ts';
import type { MessageLog } from '../../log/message-log.ts';
import type { DelayedRow } from '../../model/delayed-message.ts';
import { delayedLogId } from '../../model/log-id.ts';
import type { ChunkedPayload } from '../../model/message-record.ts';
import type { PayloadReference } from '../../model/payload-references.ts';
import type { TableWrite } from '../../model/table-write.ts';
import type { PayloadStore } from './payload-store.ts';

export class StagedPayloads {
  readonly #store: PayloadStore;
  /** A reference is complete once its message has a number. Without a log, the message is delayed. */
  readonly #references: { referenceOf: () => PayloadReference; log?: MessageLog }[] = [];
  /** References of messages that the member moves elsewhere. */
  readonly #released: PayloadReference[] = [];

  constructor(store: PayloadStore) {
    this.#store = store;
  }

  /** The payload belongs to the next message of the run. */
  addForNextMessage(run: StagedRun, { payloadId, bytes }: Pick<ChunkedPayload, 'payloadId' | 'bytes'>): void {
    const { count: index, log } = run;
    const { queueId, id } = log;
    this.#references.push({
      log,
      referenceOf: () => ({ queueId, shard: id, seq: run.firstSeq + index, payloadId, bytes }),
    });
  }

  /** The payload belongs to a delayed message. */
  addDelayed({ queueId, shard, delayedId }: DelayedRow, { payloadId, bytes }: ChunkedPayload): void {
    const reference = { queueId, shard: delayedLogId(shard), seq: delayedId, payloadId, bytes };
    this.#references.push({ referenceOf: () => reference });
  }

  /** The message that had the payload is moved elsewhere. */
  removeFromMessage(reference: PayloadReference): void {
    this.#released.push(reference);
  }

  /** The hooks of the group member that carries the messages; undefined if there is nothing to write. */
  get hooks(): PayloadHooks | undefined {
    if (this.#references.length + this.#released.length === 0) return undefined;
    return {
      onNumbered: () => [
        ...this.#released.map(referenceRemoved),
        ...this.#references.map(({ referenceOf }) => referenceAdded(referenceOf())),
      ],
      onDurable: this.#onDurable,
    };
  }

  readonly #onDurable = (): void => {
    this.#store.onMoved(
      this.#released,
      this.#references.map(({ referenceOf }) => referenceOf()),
    );
    // A topic may have no subscriber that needs the message.
    for (const { referenceOf, log } of this.#references) {
      const { seq } = referenceOf();
      if (log !== undefined) this.#store.onConsumed(log, [[seq, seq + 1]]);
    }
  };
}

const referenceAdded = (reference: PayloadReference): TableWrite => ({
  kind: 'payload referenced',
  reference,
});

const referenceRemoved = (reference: PayloadReference): TableWrite => ({
  kind: 'payload released',
  reference,
});
