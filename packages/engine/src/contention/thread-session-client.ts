/**
 * A session on a worker thread: its messages come and go over a connection of its own to the instance, and over shared memory it
 * learns for which subscribers there are any. Waits put the thread to sleep.
 */

import { QueueError } from '../api/errors.ts';
import type { RemoteInstance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import type { Message, NewMessage } from '../api/message.ts';
import type { Session } from '../api/session.ts';
import type { SharedDequeueOptions, SharedEnqueueOptions, ThreadSession } from '../api/shared-queue.ts';
import { assertFields, assertName, assertTexts } from '../model/call-arguments.ts';
import { sharedDequeueFields, sharedEnqueueFields } from '../model/call-fields.ts';
import type { SlotNumber, ThreadSessionNumber } from '../model/ids.ts';
import type { CallingThread, MachineClock } from '../model/ports.ts';
import { assertNewMessage, recordBytes, SessionGuard } from '../model/session-calls.ts';
import { addSubscriber } from './add-subscriber.ts';
import { announce } from './announce.ts';
import type { BroadcastChannel } from './broadcast-channel.ts';
import { type QueueMemory, sessionStates } from './queue-memory.ts';
import type { CountChange, QueueObject } from './queue-object.ts';
import type { OpenBook } from './session-book.ts';
import type { SessionCounts } from './session-counts.ts';
import type { EventKind, SessionTrace } from './session-trace.ts';

export interface ThreadSessionParts {
  queue: string;
  /** Number of the session in the shared memory. */
  session: ThreadSessionNumber;
  memory: QueueMemory;
  counts: SessionCounts;
  book: OpenBook;
  /** Undefined: nothing is traced. */
  trace: SessionTrace | undefined;
  object: QueueObject;
  channel: BroadcastChannel;
  client: RemoteInstance;
  clock: MachineClock;
  thread: CallingThread;
}

export class ThreadSessionClient implements ThreadSession {
  readonly id: ThreadSessionNumber;
  readonly #parts: ThreadSessionParts;
  /** The session's transaction, and one that commits each call by itself. */
  readonly #transaction: Session;
  readonly #autonomous: Session;
  /** Changes that the transaction will make to the ready counts. */
  #enqueued: CountChange[] = [];
  /** Subscribers of the messages that it has dequeued. */
  #dequeuedFor: string[] = [];
  readonly #guard: SessionGuard;

  constructor(parts: ThreadSessionParts) {
    this.id = parts.session;
    this.#parts = parts;
    this.#guard = new SessionGuard(this.id);
    this.#transaction = parts.client.openSession();
    this.#autonomous = parts.client.openSession();
  }

  enqueue(message: NewMessage, options: SharedEnqueueOptions = {}): Promise<void> {
    return this.#run(async () => {
      assertNewMessage(message);
      if (message.recipients !== undefined) recordBytes(message); // before its recipients become subscribers
      assertFields(options, sharedEnqueueFields);
      const visibility = visibilityOf(options);
      const { queue, object, counts } = this.#parts;
      const recipients = message.recipients === undefined ? null : [...new Set(message.recipients)];
      const isDelayed = (message.delayMs ?? 0) > 0;
      const slots = await this.#pinRecipients(recipients);
      try {
        if (visibility === 'commit') {
          this.#transaction.enqueue(queue, message);
          this.#enqueued.push(enqueuedFor(recipients, isDelayed));
          return;
        }
        this.#autonomous.enqueue(queue, message);
        await this.#waitFor('commit', () => this.#autonomous.commit());
        object.changeCounts(slots, enqueuedFor(recipients, isDelayed));
      } finally {
        object.unpin();
      }
      counts.add('enqueued');
      if (!isDelayed) this.#announce(slots);
    });
  }

  /** A call to the instance, which is a wait of the session until its program continues. */
  async #waitFor<T>(wait: 'call' | 'commit', call: () => Promise<T>): Promise<T> {
    const { book } = this.#parts;
    book.begin(wait);
    try {
      return await call();
    } finally {
      book.end();
    }
  }

  /** The rows of the recipients, pinned. Makes a temporary subscriber of each recipient that does not subscribe. */
  async #pinRecipients(recipients: readonly string[] | null): Promise<SlotNumber[]> {
    const { object } = this.#parts;
    for (;;) {
      const { slots, missing } = object.pinRows(recipients);
      if (missing.length === 0) return slots;
      object.unpin();
      for (const name of missing) await this.#makeTemporary(name);
    }
  }

  #makeTemporary(name: string): Promise<void> {
    const { object, client, queue } = this.#parts;
    return addSubscriber(object, {
      name,
      temporary: true,
      subscribe: () => this.#waitFor('call', () => client.subscribe(queue, { name, durable: false })),
      unsubscribe: (evicted) => this.#waitFor('call', () => client.unsubscribe(queue, evicted)),
    });
  }

  #announce(slots: readonly SlotNumber[]): void {
    const { memory, channel } = this.#parts;
    announce(slots, { memory, channel, onPost: () => this.#trace('posted') });
  }

  #trace(kind: EventKind): void {
    const { trace, clock } = this.#parts;
    trace?.add(kind, clock.nowMs());
  }

  listen(subscribers: readonly string[], waitMs: number): Promise<string> {
    return this.#run(async () => this.#listen(subscribers, waitMs));
  }

  #listen(subscribers: readonly string[], waitMs: number): string {
    const { object, channel, counts, clock } = this.#parts;
    const { subscribersMax } = limits;
    assertTexts('subscribers', subscribers);
    if (subscribers.length === 0 || subscribers.length > subscribersMax)
      throw new QueueError('OPTIONS_INVALID', { message: `listen takes 1 to ${subscribersMax} subscribers` });
    const untilMs = clock.nowMs() + validWaitMs(waitMs);
    const resolve = () => object.readLocked((table) => subscribers.map((name) => table.slotOf(name)));
    const findReady = () =>
      object.readLocked((table) => subscribers.find((name) => table.ready(table.slotOf(name)) > 0));
    resolve();
    channel.subscribe();
    let isMember = true;
    try {
      for (let isWoken = false; ; isWoken = true) {
        const found = findReady();
        if (isWoken) this.#trace(found === undefined ? 'found nothing' : 'found');
        if (found !== undefined) {
          counts.add('listens');
          return found;
        }
        if (isWoken) counts.add('falseWakeUps');
        if (!this.#waitForPost(untilMs)) {
          counts.add('listenTimeouts');
          throw new QueueError('LISTEN_TIMEOUT', { details: { waitMs, oracle: 'ORA-25254' } });
        }
        this.#trace('woken');
        counts.add('wakeUps');
        counts.add('postsTaken', channel.takePosts());
        channel.reset();
        isMember = false;
        resolve();
        channel.subscribe();
        isMember = true;
      }
    } finally {
      if (isMember) channel.reset();
    }
  }

  /** False after the time. An internal poll only sees whether there was a post, which needs no get. */
  #waitForPost(untilMs: number): boolean {
    const { channel } = this.#parts;
    for (;;) {
      const wakes = this.#wakes;
      if (channel.hasUnread) return true;
      if (this.#sleep('listening', { wakes, untilMs, pollMs: limits.listenPollMs }) === 'time is up')
        return false;
    }
  }

  dequeue(subscriber: string, options: SharedDequeueOptions = {}): Promise<Message | undefined> {
    return this.#run(() => this.#dequeue(subscriber, options));
  }

  async #dequeue(subscriber: string, options: SharedDequeueOptions): Promise<Message | undefined> {
    assertName('subscriber', subscriber);
    assertFields(options, sharedDequeueFields);
    const { waitMs = 0 } = options;
    const visibility = visibilityOf(options);
    const { memory, counts, clock } = this.#parts;
    const untilMs = clock.nowMs() + validWaitMs(waitMs);
    try {
      for (;;) {
        const wakes = this.#wakes;
        const message = await this.#take(subscriber, { visibility, waits: waitMs > 0 });
        if (message !== undefined) return message;
        const ended = this.#sleep('waiting', { wakes, untilMs, pollMs: limits.dequeuePollMs });
        if (ended === 'time is up') return undefined;
        if (ended === 'woken') counts.add('messageWakeUps');
      }
    } finally {
      memory.store(memory.session(this.id, 'waitsFor'), 0);
    }
  }

  async #take(
    subscriber: string,
    { visibility, waits }: { visibility: 'commit' | 'immediate'; waits: boolean },
  ): Promise<Message | undefined> {
    const { queue, object, counts } = this.#parts;
    const session = visibility === 'commit' ? this.#transaction : this.#autonomous;
    const { slot, ready } = object.pinRow(subscriber, { waits });
    try {
      if (ready <= 0) return undefined;
      const [message] = await this.#waitFor('call', () => session.dequeue(queue, { subscriber }));
      if (message === undefined) counts.add('dequeuedNothing');
      else if (visibility === 'commit') this.#dequeuedFor.push(subscriber);
      else {
        await this.#waitFor('commit', () => session.commit());
        object.changeCounts([slot], { ready: -1 });
        counts.add('dequeued');
        this.#trace('dequeued');
      }
      return message;
    } finally {
      object.unpin();
    }
  }

  get #wakes(): number {
    const { memory } = this.#parts;
    return memory.load(memory.session(this.id, 'wake'));
  }

  /** Sleeps until the session was woken more than `wakes` times, the poll or the time. Throws `INSTANCE_CLOSED`. */
  #sleep(
    state: 'listening' | 'waiting',
    { wakes, untilMs, pollMs }: { wakes: number; untilMs: number; pollMs: number },
  ): 'woken' | 'poll' | 'time is up' {
    const { memory, counts, book, clock, thread, object } = this.#parts;
    object.assertOpen();
    const leftMs = untilMs - clock.nowMs();
    if (leftMs <= 0) return 'time is up';
    book.begin(state === 'listening' ? 'listen' : 'dequeue');
    this.#state = state;
    const wakeAt = memory.session(this.id, 'wake');
    const outcome = thread.wait(memory.words, wakeAt, wakes, Math.min(pollMs, leftMs));
    this.#state = 'open';
    book.end();
    if (outcome !== 'timed-out') return 'woken';
    counts.add('polls');
    return 'poll';
  }

  set #state(state: (typeof sessionStates)[number]) {
    const { memory } = this.#parts;
    memory.store(memory.session(this.id, 'state'), sessionStates.indexOf(state));
  }

  commit(): Promise<void> {
    return this.#run(async () => {
      const { object, counts } = this.#parts;
      const { enqueued, dequeuedFor } = this.#endTransaction();
      try {
        await this.#waitFor('commit', () => this.#transaction.commit());
      } catch (error) {
        this.#announceReturned(dequeuedFor);
        throw error;
      }
      const dequeued = dequeuedFor.map((name) => ({ subscribers: [name], ready: -1 }));
      const slots = object.count([...enqueued, ...dequeued]);
      counts.add('enqueued', enqueued.length);
      counts.add('dequeued', dequeuedFor.length);
      if (slots.length > 0) this.#announce(slots);
    });
  }

  rollback(): Promise<void> {
    return this.#run(() => this.#rollback());
  }

  async #rollback(): Promise<void> {
    const { dequeuedFor } = this.#endTransaction();
    await this.#waitFor('call', () => this.#transaction.rollback());
    this.#announceReturned(dequeuedFor);
  }

  /**
   * Announces returned messages of these subscribers, whose ready counts had not changed. Messages that wait for a retry delay or
   * for the exception queue are no longer counted: the owner announces them when they are ready.
   */
  #announceReturned(subscribers: readonly string[]): void {
    if (subscribers.length === 0) return;
    const slots = this.#parts.object.readLocked((table) =>
      subscribers.map((name) => table.slotOf(name)).filter((slot) => table.ready(slot) > 0),
    );
    if (slots.length > 0) this.#announce(slots);
  }

  #endTransaction(): { enqueued: CountChange[]; dequeuedFor: string[] } {
    const ended = { enqueued: this.#enqueued, dequeuedFor: this.#dequeuedFor };
    this.#enqueued = [];
    this.#dequeuedFor = [];
    return ended;
  }

  /** If the rollback fails, or the connection is lost, the session is closed all the same. */
  async close(): Promise<void> {
    if (this.#guard.isClosed) return;
    await this.#run(async () => {
      this.#guard.beginClose();
      try {
        if (!this.#parts.object.isClosed) await this.#rollback();
      } finally {
        await this.#disconnect();
      }
    });
  }

  async #disconnect(): Promise<void> {
    const { client, book } = this.#parts;
    try {
      await this.#waitFor('call', () => client.close());
    } finally {
      book.close();
      this.#state = 'closed';
    }
  }

  async #run<T>(call: () => Promise<T>): Promise<T> {
    this.#guard.assertFree();
    const called = call();
    this.#guard.begin(called);
    try {
      return await called;
    } finally {
      this.#guard.end();
    }
  }
}

/** A delayed message for all subscribers is counted when it is due, for the subscribers that exist then. */
const enqueuedFor = (subscribers: readonly string[] | null, isDelayed: boolean): CountChange => ({
  subscribers,
  ...(isDelayed ? { later: subscribers === null ? 0 : 1 } : { ready: 1 }),
});

function visibilityOf({ visibility = 'commit' }: SharedEnqueueOptions): 'commit' | 'immediate' {
  if (visibility === 'commit' || visibility === 'immediate') return visibility;
  throw new QueueError('OPTIONS_INVALID', { message: 'visibility must be commit or immediate' });
}

function validWaitMs(waitMs: number): number {
  if (Number.isFinite(waitMs) && waitMs >= 0 && waitMs <= limits.waitMsMax) return waitMs;
  throw new QueueError('OPTIONS_INVALID', { message: `waitMs must be 0 to ${limits.waitMsMax}` });
}
