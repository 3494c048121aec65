/**
 * The file's record of one forwarded shard: its open receiver, the last batch that is marked as moved, and message totals. The
 * state follows the commits and never runs ahead of them.
 */

import type { GroupCommit } from '../commit/group-commit.ts';
import type { SyncMode } from '../commit/staged-transaction.ts';
import type { Delivery } from '../log/delivery.ts';
import type { ShardKey } from '../model/forwarded-batch.ts';
import type { ForwardedOutRow } from '../model/forwarding-row.ts';
import { type ForwardingCommand, type ForwardingState, forwardingLife } from '../model/forwarding-state.ts';
import type { BatchNumber, InstanceId } from '../model/ids.ts';
import { InvariantViolation, stopOn } from '../model/invariant.ts';
import type { TableWrite } from '../model/table-write.ts';

export interface ForwardingLedgerOptions {
  shardKey: ShardKey;
  group: GroupCommit;
  sync: SyncMode;
  /** The rows of the shard in the file, one a receiver. */
  rows: readonly ForwardedOutRow[];
}

export class ForwardingLedger {
  readonly shardKey: ShardKey;
  readonly #group: GroupCommit;
  readonly #sync: SyncMode;
  /** Rows by receiver. */
  readonly #rows: Map<InstanceId, ForwardedOutRow>;
  #state: ForwardingState = 'closed';
  #receiver = 0;

  constructor({ shardKey, group, sync, rows }: ForwardingLedgerOptions) {
    this.shardKey = shardKey;
    this.#group = group;
    this.#sync = sync;
    this.#rows = new Map(rows.map((row) => [row.receiver, row]));
    const [unsettled, another] = rows.filter((row) => row.unsettled);
    if (another !== undefined) this.#stop('has two receivers to be asked');
    if (unsettled === undefined) return;
    this.#state = 'inDoubt';
    this.#receiver = unsettled.receiver;
  }

  #stop(broken: string): never {
    const { queueId, shard } = this.shardKey;
    stopOn(
      new InvariantViolation(`the forwarding of shard ${shard} of queue ${queueId} ${broken}`),
      (violation) => this.#group.fail(violation),
    );
  }

  get state(): ForwardingState {
    return this.#state;
  }

  /** The instance to ask after a crash; 0 while the state is `closed`. */
  get receiver(): InstanceId {
    return this.#receiver;
  }

  /** Messages forwarded to other instances since the queue was created. */
  get forwardedOut(): number {
    let messages = 0;
    for (const { messagesTotal } of this.#rows.values()) messages += messagesTotal;
    return messages;
  }

  /** The receiver's last batch whose messages are marked as moved. */
  get lastConsumedBatch(): BatchNumber {
    return this.#rowOf(this.#receiver).batchNumber;
  }

  apply(command: ForwardingCommand): void {
    this.#state = this.#stateAfter(command);
  }

  #stateAfter(command: ForwardingCommand): ForwardingState {
    return forwardingLife.find(this.#state, command) ?? this.#stop(`is ${this.#state} and cannot ${command}`);
  }

  /**
   * Throws once storage has failed. A row that `close` failed to write may be in the file all the same, and then names no
   * receiver: messages of a batch sent after that would be delivered here as well once the instance is opened again.
   */
  assertRecorded(): void {
    const { failure } = this.#group;
    if (failure !== undefined) throw failure;
  }

  /** Records this receiver as the one to ask after a crash, in place of any other. */
  async open(receiver: InstanceId): Promise<void> {
    if (this.#state !== 'closed' && this.#receiver === receiver) return;
    this.#stateAfter('open'); // an illegal command writes nothing
    const rows: ForwardedOutRow[] = [{ ...this.#rowOf(receiver), unsettled: true }];
    if (this.#state === 'open') rows.push({ ...this.#rowOf(this.#receiver), unsettled: false });
    await this.#write(rows);
    this.#receiver = receiver;
    this.apply('open');
  }

  /** Records that no receiver has to be asked. */
  async close(): Promise<void> {
    this.#stateAfter('close');
    await this.#write([{ ...this.#rowOf(this.#receiver), unsettled: false }]);
    this.#receiver = 0;
    this.apply('close');
  }

  /** Marks the messages of a batch as moved: they are consumed here. */
  async consumeForwarded(batchNumber: BatchNumber, deliveries: readonly Delivery[]): Promise<void> {
    this.#stateAfter('consume');
    const row = this.rowWithForwarded(deliveries.reduce((sum, { count }) => sum + count, 0));
    await this.#write([{ ...row, batchNumber }], deliveries);
    this.apply('consume');
  }

  /** Returns the receiver's row with `messages` added to its total, without writing it. */
  rowWithForwarded(messages: number): ForwardedOutRow {
    const row = this.#rowOf(this.#receiver);
    return { ...row, messagesTotal: row.messagesTotal + messages };
  }

  /** Call it once a row that the caller has written in its own commit is durable. */
  recordCommittedRow(row: ForwardedOutRow): void {
    this.#rows.set(row.receiver, row);
  }

  #rowOf(receiver: InstanceId): ForwardedOutRow {
    const initial = { ...this.shardKey, receiver, batchNumber: 0, messagesTotal: 0, unsettled: false };
    return this.#rows.get(receiver) ?? initial;
  }

  async #write(rows: readonly ForwardedOutRow[], deliveries: readonly Delivery[] = []): Promise<void> {
    await this.#group.write({
      deliveries,
      sync: this.#sync,
      background: true,
      onClose: () => rows.map((row): TableWrite => ({ kind: 'forwarded out', row })),
    });
    for (const row of rows) this.recordCommittedRow(row);
  }
}
