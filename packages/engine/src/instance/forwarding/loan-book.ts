/**
 * What is written down of a loan: to whom a shard is open, the last batch that is consumed as moved, and how many messages
 * went. Its state changes with the commits, never ahead of them.
 */
import { type LoanEvent, type LoanState, nextLoanState } from '../../core/forwarding.ts';
import type { LentRow } from '../../storage/forwarding-table.ts';
import type { SideChange } from '../../storage/side-change.ts';
import type { GroupCommit } from '../group-commit.ts';
import type { Delivery } from '../hand-out.ts';
import type { StagedTransaction } from '../staged-transaction.ts';
import type { ShardName } from './interconnect.ts';

export interface LoanBookOptions {
  name: ShardName;
  group: GroupCommit;
  sync: StagedTransaction['sync'];
  /** What the file says, by receiver. */
  rows: readonly LentRow[];
}

export class LoanBook {
  readonly name: ShardName;
  readonly #group: GroupCommit;
  readonly #sync: StagedTransaction['sync'];
  readonly #rows: Map<number, LentRow>;
  state: LoanState = 'home';
  /** To whom the shard is open; 0 if it is at home. */
  receiver = 0;

  constructor({ name, group, sync, rows }: LoanBookOptions) {
    this.name = name;
    this.#group = group;
    this.#sync = sync;
    this.#rows = new Map(rows.map((row) => [row.receiver, row]));
    const open = rows.find((row) => row.open);
    if (open === undefined) return;
    this.state = 'asking';
    this.receiver = open.receiver;
  }

  /** Messages that went to other instances. */
  get movedOut(): number {
    let moved = 0;
    for (const { messages } of this.#rows.values()) moved += messages;
    return moved;
  }

  /** The last batch of the receiver that is consumed here. */
  get settledNo(): number {
    return this.#rowOf(this.receiver).batchNo;
  }

  enter(event: LoanEvent): void {
    this.state = nextLoanState(this.state, event);
  }

  /** From now on this receiver has to be asked after a crash, and no other. */
  async open(receiver: number): Promise<void> {
    if (this.state !== 'home' && this.receiver === receiver) return;
    const rows = [{ ...this.#rowOf(receiver), open: true }];
    if (this.state === 'open') rows.push({ ...this.#rowOf(this.receiver), open: false });
    await this.#write(rows);
    this.receiver = receiver;
    this.enter('opened');
  }

  async close(): Promise<void> {
    await this.#write([{ ...this.#rowOf(this.receiver), open: false }]);
    this.receiver = 0;
    this.enter('closed');
  }

  /** Consumes a batch as moved. */
  async settle(no: number, deliveries: readonly Delivery[]): Promise<void> {
    const row = this.#rowOf(this.receiver);
    const messages = row.messages + deliveries.reduce((sum, { count }) => sum + count, 0);
    await this.#write([{ ...row, batchNo: no, messages }], deliveries);
    this.enter('settled');
  }

  /** The row of messages that leave the shard's logs here and come to one of them again, in one commit. */
  rowOfMoved(messages: number): LentRow {
    const row = this.#rowOf(this.receiver);
    return { ...row, messages: row.messages + messages };
  }

  /** It is committed. */
  noteMoved(row: LentRow): void {
    this.#rows.set(row.receiver, row);
  }

  #rowOf(receiver: number): LentRow {
    const none = { ...this.name, receiver, batchNo: 0, messages: 0, open: false };
    return this.#rows.get(receiver) ?? none;
  }

  async #write(rows: readonly LentRow[], deliveries: readonly Delivery[] = []): Promise<void> {
    const side = () => rows.map((row): SideChange => ({ kind: 'lent', row }));
    await this.#group.submit({
      runs: [],
      deliveries: [...deliveries],
      bytes: 0,
      sync: this.#sync,
      side,
    });
    for (const row of rows) this.#rows.set(row.receiver, row);
  }
}
