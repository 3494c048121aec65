/** Messages with a payload in chunks among those of one transaction: who has which is written with them. */
import type { PayloadUse } from '../core/payload-uses.ts';
import type { ChunkedPayload } from '../storage/message-record.ts';
import type { SideChange } from '../storage/side-change.ts';
import type { PayloadStore } from './payload-store.ts';
import type { Shard } from './shard.ts';
import type { StagedRun, StagedTransaction } from './staged-transaction.ts';

export class StagedPayloads {
  readonly #store: PayloadStore;
  /** Each is known once its message has a number; without a shard, it is delayed. */
  readonly #uses: { use: () => PayloadUse; shard?: Shard }[] = [];
  /** Rows of messages that leave their place with this transaction. */
  readonly #left: PayloadUse[] = [];

  constructor(store: PayloadStore) {
    this.#store = store;
  }

  /** The next message of the run has it. */
  addNext(run: StagedRun, { payload, bytes }: Pick<ChunkedPayload, 'payload' | 'bytes'>): void {
    const { count: index, shard } = run;
    const { queueId, no } = shard;
    this.#uses.push({
      shard,
      use: () => ({ queueId, shard: no, seq: run.firstSeq + index, payload, bytes }),
    });
  }

  /** A delayed message has it. */
  addDelayed(use: PayloadUse): void {
    this.#uses.push({ use: () => use });
  }

  /** The message that had it goes elsewhere. */
  leave(use: PayloadUse): void {
    this.#left.push(use);
  }

  /** To be part of the transaction. */
  get hooks(): Pick<StagedTransaction, 'placed' | 'applied'> {
    if (this.#uses.length + this.#left.length === 0) return {};
    return {
      placed: () => [...this.#left.map(released), ...this.#uses.map(({ use }) => used(use()))],
      applied: this.#applied,
    };
  }

  readonly #applied = (): void => {
    this.#store.moved(
      this.#left,
      this.#uses.map(({ use }) => use()),
    );
    // A topic may have no subscriber who waits for it.
    for (const { use, shard } of this.#uses) {
      const { seq } = use();
      if (shard !== undefined) this.#store.consumed(shard, [[seq, seq + 1]]);
    }
  };
}

const used = (use: PayloadUse): SideChange => ({ kind: 'payload used', use });
const released = (use: PayloadUse): SideChange => ({ kind: 'payload released', use });
