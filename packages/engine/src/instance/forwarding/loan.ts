/**
 * What moves of one shard from this instance to others: a loan, or, if the shard is another's, its way back home. It is
 * the gate before the shard's logs here: while messages that moved may not have been delivered, those behind them wait.
 *
 * Before the first batch goes to a receiver it is durable that this one has to be asked after a crash (`open`). A batch is
 * then sent without another write, committed there, and consumed here as moved; only after that the next one goes.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { QueueError } from '../../core/errors.ts';
import { deliversHere, isUnsettled, type LoanEvent, type LoanState } from '../../core/forwarding.ts';
import { limits } from '../../core/limits.ts';
import type { LentRow } from '../../storage/forwarding-table.ts';
import type { IdRun } from '../../storage/id-runs.ts';
import type { Delivery } from '../hand-out.ts';
import type { DeliveryGate, ShardReader } from '../shard-reader.ts';
import { countUpTo } from './home-order.ts';
import type { LoanReport, Peer, ShardName } from './interconnect.ts';
import { layBatch } from './lay-batch.ts';
import { LoanBook, type LoanBookOptions } from './loan-book.ts';
import { nextHoldNo, takeBack, takeForPeer } from './take-for-peer.ts';

export interface LoanHost {
  /** The queue is gone from here, or the instance is. */
  readonly ended: AbortSignal;
  /** Undefined while there is no way to the others. */
  peer(instance: number): Peer | undefined;
  nextBatchNo(): number;
  /** Brings the next messages of a log to memory; undefined if there is nothing to be read. */
  read(log: ShardReader): Promise<void> | undefined;
  /** Resolves once no messages of the shard are about to be committed here. */
  landed(name: ShardName): Promise<void>;
  /** Messages may be ready, here or for others. */
  onChange(): void;
  /** Does work that nobody waits for; what it throws is dealt with. */
  run(work: () => Promise<void>): Promise<void>;
}

export interface LoanOptions extends LoanBookOptions {
  /** The shard is another instance's. */
  goesHome: boolean;
  host: LoanHost;
}

/** There is no way to the others any more; `resume` goes on once there is. */
export class Interrupted extends Error {}

/** Messages to be committed again, behind those that come home, with what is written down of that. */
export interface Rest {
  deliveries: readonly Delivery[];
  row: LentRow;
}

type Sent = 'taken' | 'refused' | 'none';

export class Loan implements DeliveryGate {
  readonly goesHome: boolean;
  readonly #book: LoanBook;
  readonly #host: LoanHost;
  /** In the order in which they are delivered. */
  #logs: readonly ShardReader[] = [];
  /** The batch that is not settled. */
  #batch: { no: number; deliveries: readonly Delivery[] } | undefined;
  /** What is being done with it: one thing at a time. */
  #work: Promise<unknown> | undefined;
  #watching = false;
  #recalled = false;
  /** What came home is being laid anew. */
  #laying = false;

  constructor({ goesHome, host, ...options }: LoanOptions) {
    this.#book = new LoanBook(options);
    this.goesHome = goesHome;
    this.#host = host;
  }

  /** The logs of the shard here; what came back goes before what never left. */
  setLogs(logs: readonly ShardReader[]): void {
    this.#logs = logs;
    for (const log of logs) log.gate = this;
  }

  delivers(reader: ShardReader): boolean {
    if (this.#laying || !deliversHere(this.state, this.goesHome)) return false;
    for (const log of this.#logs) {
      if (log === reader) return true;
      if (log.ready > 0) return false;
    }
    return false;
  }

  get name(): ShardName {
    return this.#book.name;
  }

  get state(): LoanState {
    return this.#book.state;
  }

  /** To whom it is open; 0 if it is at home. */
  get receiver(): number {
    return this.#book.receiver;
  }

  get movedOut(): number {
    return this.#book.movedOut;
  }

  get busy(): boolean {
    return this.#work !== undefined;
  }

  /** Messages that nobody holds. */
  get ready(): number {
    return this.#logs.reduce((sum, log) => sum + log.ready, 0);
  }

  /** Where the next message lies; undefined if none is ready. */
  get nextLog(): ShardReader | undefined {
    return this.#logs.find((log) => log.ready > 0);
  }

  canLendTo(receiver: number): boolean {
    if (this.busy || this.goesHome) return false;
    if (this.state === 'away') return this.receiver === receiver;
    return this.state === 'home' || this.state === 'open';
  }

  /** Sends one batch of up to `max` messages. */
  lend(to: Peer, max: number): Promise<Sent> {
    return this.#alone(async () => {
      await this.#book.open(to.instance);
      return this.#send(to, max);
    });
  }

  /** Sends all that nobody holds to the shard's owner. Rejects if it cannot be reached: then nothing has changed. */
  goHome(owner: Peer): Promise<void> {
    return this.#alone(async () => {
      if (this.state === 'home') {
        await owner.report(this.name, { whenDelivered: false });
        await this.#book.open(owner.instance);
      }
      await this.#host.landed(this.name); // none that comes later is taken
      for (let log = this.nextLog; log !== undefined; log = this.nextLog) {
        if (log.mustRead) await this.#host.read(log);
        const sent = await this.#send(owner, limits.forwardBatchMessagesMax);
        if (sent === 'refused') await this.#pause();
        else if (sent === 'none' && log.mustRead) break; // what is next is damaged
      }
      await this.#book.close();
    });
  }

  /** There is a way to the others again, or for the first time since the instance opened. */
  async resume(): Promise<void> {
    if (this.state === 'asking' && !this.busy) await this.#alone(() => this.#ask());
    if (this.state === 'away') this.#watch();
  }

  /** Nobody need be asked any more after a crash. */
  async close(): Promise<void> {
    if (this.state === 'open' && !this.busy) await this.#alone(() => this.#book.close());
  }

  /** What is under way is finished; then nobody need be asked after a crash, unless something is still elsewhere. */
  async rest(): Promise<void> {
    await this.#work?.catch(() => undefined);
    if (!this.goesHome) await this.close();
  }

  /** Wants back what the receiver has not delivered: consumers wait here. */
  recall(): void {
    if (this.goesHome || this.state !== 'away' || this.#recalled) return;
    const peer = this.#host.peer(this.receiver);
    if (peer === undefined) return;
    this.#recalled = true;
    peer.recall(this.name).catch(() => {
      this.#recalled = false;
    });
  }

  /**
   * Has a batch that comes home committed. `commit` gets what came home earlier and is to be laid behind it: what has
   * higher numbers than `last`, the highest of the batch. Resolves with false if nothing may come yet, as it is not known
   * what is elsewhere.
   */
  async comeHome(last: number, commit: (rest: Rest | undefined) => Promise<void>): Promise<boolean> {
    while (this.#work !== undefined) await this.#work.catch(() => undefined);
    if (this.state === 'asking') return false;
    await this.#alone(async () => {
      this.#laying = true;
      let deliveries: Delivery[] = [];
      try {
        deliveries = await this.#takeBehind(last);
        const row = this.#book.rowOfMoved(deliveries.reduce((sum, { count }) => sum + count, 0));
        await commit(deliveries.length === 0 ? undefined : { deliveries, row });
        if (deliveries.length > 0) this.#book.noteMoved(row);
      } catch (error) {
        takeBack(deliveries);
        throw error;
      } finally {
        this.#laying = false;
      }
    });
    return true;
  }

  async #takeBehind(last: number): Promise<Delivery[]> {
    const log = this.#logs.find(({ shard }) => shard.no !== this.name.shard);
    if (log === undefined || last === 0) return [];
    const all: Delivery[] = [];
    for (let taken = 1; taken > 0 && log.ready > 0; ) {
      if (log.mustRead) await this.#host.read(log);
      taken = log.takeAway({ max: log.ready, nextHoldNo, out: all });
    }
    const before = countUpTo(last, this.name.shard, all);
    takeBack(all);
    const [stays, goes]: [Delivery[], Delivery[]] = [[], []];
    if (before > 0) log.takeAway({ max: before, nextHoldNo, out: stays });
    const max = all.reduce((sum, { count }) => sum + count, 0) - before;
    if (max > 0) log.takeAway({ max, nextHoldNo, out: goes });
    takeBack(stays);
    return goes;
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const underWay = work();
    this.#work = underWay;
    try {
      return await underWay;
    } finally {
      this.#work = undefined;
      this.#host.onChange();
    }
  }

  #enter(event: LoanEvent): void {
    this.#book.enter(event);
    this.#recalled = false;
  }

  async #send(to: Peer, max: number): Promise<Sent> {
    const deliveries = takeForPeer(this.#logs, max);
    if (deliveries.length === 0) return 'none';
    const no = this.#host.nextBatchNo();
    this.#batch = { no, deliveries };
    this.#enter('sent');
    let taken: boolean;
    try {
      taken = await to.forward({ ...this.name, no, ...layBatch(deliveries) });
    } catch {
      this.#enter('lost');
      return (await this.#ask()) ? 'taken' : 'refused';
    }
    await this.#conclude(taken);
    return taken ? 'taken' : 'refused';
  }

  /** Finds out whether the last batch arrived, and acts on it. Returns whether it did. */
  async #ask(): Promise<boolean> {
    const { batchNo, extent } = await this.#report({ whenDelivered: false });
    const arrived = isUnsettled(batchNo, this.#book.settledNo);
    const deliveries = this.#batch?.deliveries ?? (arrived ? this.#holdUnseen(extent) : []);
    this.#batch = { no: batchNo, deliveries };
    await this.#conclude(arrived);
    return arrived;
  }

  /** What the receiver says, however long it takes to reach it. */
  async #report(options: { whenDelivered: boolean }): Promise<LoanReport> {
    for (;;) {
      const peer = this.#host.peer(this.receiver);
      if (peer === undefined) throw new Interrupted();
      try {
        return await peer.report(this.name, options);
      } catch {
        // The connection was lost. A recall may have gone with it.
        this.#recalled = false;
      }
      await this.#pause();
      if (options.whenDelivered) this.#host.onChange();
    }
  }

  /** Messages of a batch that an earlier process sent. */
  #holdUnseen(extent: readonly IdRun[]): Delivery[] {
    return extent.flatMap(({ shard, firstSeq, count }) => {
      const log = this.#logs.find((each) => each.shard.no === shard);
      return log === undefined ? [] : log.holdUnseen(firstSeq, count);
    });
  }

  async #conclude(taken: boolean): Promise<void> {
    const { no, deliveries } = this.#batch!;
    if (taken) {
      this.#enter('taken');
      await this.#settle(no, deliveries);
    } else {
      takeBack(deliveries);
      this.#enter('refused');
    }
    this.#batch = undefined;
    if (this.state !== 'away') return;
    // At home the shard's owner takes care of the order.
    if (this.goesHome) this.#enter('delivered');
    else this.#watch();
  }

  /** The receiver has the batch: sooner or later it is consumed here, however often a full or locked file refuses. */
  async #settle(no: number, deliveries: readonly Delivery[]): Promise<void> {
    for (;;) {
      try {
        return await this.#book.settle(no, deliveries);
      } catch (error) {
        if (!(error instanceof QueueError) || isLast(error)) throw error;
      }
      await this.#pause();
    }
  }

  /** Waits until the receiver has delivered what it was given. */
  #watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    void this.#host.run(async () => {
      try {
        while (this.state === 'away') {
          const { batchNo } = await this.#report({ whenDelivered: true });
          // Another batch may be on its way meanwhile: then it is asked again once that is settled. It may be settled
          // already: then the answer is about those before.
          if (this.state !== 'away') break;
          if (batchNo >= this.#book.settledNo) this.#enter('delivered');
          else await this.#pause();
        }
      } finally {
        this.#watching = false;
      }
      this.#host.onChange();
    });
  }

  #pause(): Promise<void> {
    return pause(limits.forwardRetryMs, undefined, { signal: this.#host.ended, ref: false });
  }
}

/** Nothing more is committed here; whoever opens the instance next asks the receiver. */
function isLast({ code }: QueueError): boolean {
  return code === 'INSTANCE_FAILED' || code === 'INSTANCE_FENCED';
}
