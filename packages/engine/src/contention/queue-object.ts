/**
 * The metadata object of a shared queue as one session uses it: it stands for Oracle's object in the library cache. A _lock_
 * keeps the object from being removed, a _pin_ keeps its content from changing; both are counted, and closing the queue waits
 * until there are none. Each step below is one get of the mutex, because between two steps another session may change what the
 * step read.
 *
 * An access with a lock takes six gets (lock; check, pin, read; unpin; unlock), an access by pin alone six or, if it changes
 * nothing, five (find; check, pin, pin the row; change; unpin). The document traces the same steps.
 *
 * Where the object is hot it has copies, each with a mutex, locks, pins and ready counts of its own. A session uses one copy.
 */

import { QueueError } from '../api/errors.ts';
import type { CopyNumber, SlotNumber, ThreadSessionNumber } from '../model/ids.ts';
import type { Guard } from './latch.ts';
import type { QueueMemory } from './queue-memory.ts';
import type { SessionCounts } from './session-counts.ts';
import { allRows, type SubscriberTable } from './subscriber-table.ts';

export interface QueueObjectOptions {
  memory: QueueMemory;
  table: SubscriberTable;
  /** Number of the session. */
  session: ThreadSessionNumber;
  counts: SessionCounts;
  /** The mutexes of all copies, in their order. */
  mutexes: readonly Guard[];
}

/** How counts of subscribers change, in messages. */
export interface RowChange {
  /** Messages that are ready. Listening sessions check this count. */
  ready?: number;
  /**
   * Messages that are not ready yet: delayed, waiting for a retry, or on their way to the exception queue. They keep the row from
   * being evicted.
   */
  later?: number;
}

export interface CountChange extends RowChange {
  /** Null stands for all. A subscriber that was removed has lost its messages. */
  subscribers: readonly string[] | null;
}

/** A row that the session has pinned: its slot stays its subscriber's. */
export interface PinnedRow {
  slot: SlotNumber;
  ready: number;
}

export class QueueObject {
  readonly #memory: QueueMemory;
  readonly #table: SubscriberTable;
  readonly #session: ThreadSessionNumber;
  readonly #counts: SessionCounts;
  readonly #mutexes: readonly Guard[];
  readonly #copy: CopyNumber;
  readonly #mutex: Guard;

  constructor({ memory, table, session, counts, mutexes }: QueueObjectOptions) {
    this.#memory = memory;
    this.#table = table;
    this.#session = session;
    this.#counts = counts;
    this.#mutexes = mutexes;
    this.#copy = session % mutexes.length;
    this.#mutex = mutexes[this.#copy]!;
  }

  /** Reads the table under a lock and a pin. `read` runs under the mutex. Throws `INSTANCE_CLOSED`, and what `read` throws. */
  readLocked<T>(read: (table: SubscriberTable) => T): T {
    this.#lock();
    try {
      this.#pin();
      try {
        return this.#mutex.within(() => read(this.#table));
      } finally {
        this.#unpin();
      }
    } finally {
      this.#unlock();
    }
  }

  #lock(): void {
    this.#mutex.within(() => this.#memory.change(this.#memory.object(this.#copy, 'locks'), 1));
    this.#counts.add('locks');
  }

  #unlock(): void {
    this.#mutex.within(() => this.#memory.change(this.#memory.object(this.#copy, 'locks'), -1));
  }

  /**
   * A closing queue grants no pin, not even to a session that has a lock. A granted pin delays the end of the closing until it is
   * released.
   */
  #pin(): void {
    this.#mutex.within(() => this.assertOpen());
    this.#mutex.within(() => this.#memory.change(this.#memory.object(this.#copy, 'pins'), 1));
    this.#counts.add('pins');
  }

  #unpin(): void {
    this.#mutex.within(() => {
      this.#memory.store(this.#memory.session(this.#session, 'pinned'), 0);
      this.#memory.change(this.#memory.object(this.#copy, 'pins'), -1);
    });
  }

  /**
   * Begins an access by pin alone, which `unpin` ends. `waits`: the session is noted as one that waits for the subscriber, before
   * the count is read, so that a session that raises the count later wakes it. Throws `INSTANCE_CLOSED`, `SUBSCRIBER_NOT_FOUND`.
   */
  pinRow(name: string, { waits = false } = {}): PinnedRow {
    return this.#pinWith((table) => {
      const slot = table.slotOf(name);
      this.#memory.store(this.#memory.session(this.#session, 'pinned'), slot + 1);
      if (waits) this.#memory.store(this.#memory.session(this.#session, 'waitsFor'), slot + 1);
      return { slot, ready: table.ready(slot) };
    });
  }

  /** As `pinRow`, for messages to several subscribers; null means all. `missing` has the names without a row. */
  pinRows(names: readonly string[] | null): { slots: SlotNumber[]; missing: string[] } {
    return this.#pinWith((table) => {
      const slots = names === null ? table.slots() : names.map((name) => table.find(name));
      const found = slots.filter((slot) => slot !== undefined);
      const pinned = found.length === 1 ? found[0]! + 1 : allRows;
      this.#memory.store(this.#memory.session(this.#session, 'pinned'), pinned);
      return { slots: found, missing: (names ?? []).filter((_, index) => slots[index] === undefined) };
    });
  }

  #pinWith<T>(read: (table: SubscriberTable) => T): T {
    this.#mutex.within(() => this.#table.refresh());
    this.#pin();
    try {
      return this.#mutex.within(() => read(this.#table));
    } catch (error) {
      this.#unpin();
      throw error;
    }
  }

  unpin(): void {
    this.#unpin();
  }

  /** One get: changes the counts of rows that are pinned. */
  changeCounts(slots: readonly SlotNumber[], change: RowChange): void {
    this.#mutex.within(() => this.#change(slots, change));
  }

  /** Applies several changes, such as those of a commit, in one get. Returns the slots whose ready count grew. */
  count(changes: readonly CountChange[]): SlotNumber[] {
    return this.#mutex.within(() => {
      const table = this.#table;
      return changes.flatMap(({ subscribers, ...change }) => {
        const slots = (
          subscribers === null ? table.slots() : subscribers.map((name) => table.find(name))
        ).filter((slot) => slot !== undefined);
        this.#change(slots, change);
        return (change.ready ?? 0) > 0 ? slots : [];
      });
    });
  }

  #change(slots: readonly SlotNumber[], { ready = 0, later = 0 }: RowChange): void {
    for (const slot of slots) {
      if (ready !== 0) this.#table.changeCount('ready', { copy: this.#copy, slot, by: ready });
      if (later !== 0) this.#table.changeCount('later', { copy: this.#copy, slot, by: later });
    }
  }

  /** Changes rows under all mutexes, so that no session reads them at the same time. */
  changeRows<T>(change: (table: SubscriberTable) => T): T {
    const section = () => {
      this.assertOpen();
      return change(this.#table);
    };
    return this.#withinAll(section);
  }

  /** Later accesses of all sessions are refused. */
  close(): void {
    this.#withinAll(() => {
      for (const copy of this.#mutexes.keys()) this.#memory.store(this.#memory.object(copy, 'closed'), 1);
    });
  }

  /** Takes the mutexes in their order, so that two sessions that do so cannot wait for each other. */
  #withinAll<T>(section: () => T): T {
    return this.#mutexes.reduceRight<() => T>((inner, mutex) => () => mutex.within(inner), section)();
  }

  /** Locks or pins that are held now, over all copies. */
  held(what: 'locks' | 'pins'): number {
    return this.#mutexes.reduce(
      (sum, _, copy) => sum + this.#memory.load(this.#memory.object(copy, what)),
      0,
    );
  }

  get isClosed(): boolean {
    return this.#memory.load(this.#memory.object(this.#copy, 'closed')) === 1;
  }

  /** Throws `INSTANCE_CLOSED`. */
  assertOpen(): void {
    if (this.isClosed) throw new QueueError('INSTANCE_CLOSED', { message: 'The shared queue is closed' });
  }
}
