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
import type { Clock } from '../model/ports.ts';
import type { BroadcastChannel } from './broadcast-channel.ts';
import { type QueueMemory, sessionStates } from './queue-memory.ts';
import type { QueueObject } from './queue-object.ts';
import type { SessionCounts } from './session-counts.ts';
import { assertNameFits } from './subscriber-table.ts';

export interface SharedSessionParts {
  queue: string;
  /** Number of the session in the shared memory. */
  session: number;
  memory: QueueMemory;
  counts: SessionCounts;
  object: QueueObject;
  channel: BroadcastChannel;
  client: RemoteInstance;
  clock: Pick<Clock, 'monotonicMs'>;
}

export class SharedSession implements ThreadSession {
  readonly id: number;
  readonly #parts: SharedSessionParts;
  /** The session's transaction, and one that commits each call by itself. */
  readonly #transaction: Session;
  readonly #autonomous: Session;
  /** Subscribers of the messages that the transaction has enqueued and dequeued. */
  #enqueuedFor: (readonly string[] | null)[] = [];
  #dequeuedFor: string[] = [];
  #isBusy = false;
  #isClosed = false;

  constructor(parts: SharedSessionParts) {
    this.id = parts.session;
    this.#parts = parts;
    this.#transaction = parts.client.openSession();
    this.#autonomous = parts.client.openSession();
  }

  enqueue(message: NewMessage, { visibility = 'commit' }: SharedEnqueueOptions = {}): Promise<void> {
    return this.#run(async () => {
      const { queue } = this.#parts;
      const recipients = message.recipients ?? null;
      const slots = await this.#pinRecipients(recipients);
      try {
        if (visibility === 'commit') {
          this.#transaction.enqueue(queue, message);
          this.#enqueuedFor.push(recipients);
          return;
        }
        this.#autonomous.enqueue(queue, message);
        await this.#autonomous.commit();
        this.#parts.object.changeReady(slots, 1);
      } finally {
        this.#parts.object.unpin();
      }
      this.#parts.counts.add('enqueued');
      this.#announce(slots);
    });
  }

  /** The rows of the recipients, pinned; makes a temporary subscriber of each that is none. */
  async #pinRecipients(recipients: readonly string[] | null): Promise<number[]> {
    const { object } = this.#parts;
    for (;;) {
      const { slots, missing } = object.pinRows(recipients);
      if (missing.length === 0) return slots;
      object.unpin();
      for (const name of missing) await this.#makeTemporary(name);
    }
  }

  async #makeTemporary(name: string): Promise<void> {
    const { object, client, queue } = this.#parts;
    assertNameFits(name);
    const { slot, evicted } = object.changeRows((table) => table.reserve());
    try {
      if (evicted !== undefined) await client.unsubscribe(queue, evicted);
      await client.subscribe(queue, { name, durable: false });
    } catch (error) {
      object.changeRows((table) => table.release(slot));
      throw error;
    }
    object.changeRows((table) => table.fill(slot, name, { temporary: true }));
  }

  /** Wakes all who listen, and those who wait for messages of one of the subscribers. */
  #announce(slots: readonly number[]): void {
    const { memory, channel } = this.#parts;
    for (let session = 1; session <= memory.shape.sessionsMax; session += 1) {
      const waitsFor = memory.load(memory.session(session, 'waitsFor'));
      if (waitsFor > 0 && slots.includes(waitsFor - 1)) memory.wake(session);
    }
    channel.post();
  }

  listen(subscribers: readonly string[], waitMs: number): Promise<string> {
    return this.#run(async () => this.#listen(subscribers, waitMs));
  }

  #listen(subscribers: readonly string[], waitMs: number): string {
    const { object, channel, counts, clock } = this.#parts;
    const untilMs = clock.monotonicMs() + validWaitMs(waitMs);
    const resolve = () => object.look((table) => subscribers.map((name) => table.slotOf(name)));
    const look = () =>
      object.look((table) => subscribers.find((name) => table.ready(table.slotOf(name)) > 0));
    resolve();
    channel.subscribe();
    let isMember = true;
    try {
      for (let isWoken = false; ; isWoken = true) {
        const found = look();
        if (found !== undefined) {
          counts.add('listens');
          return found;
        }
        if (isWoken) counts.add('falseWakeUps');
        if (!this.#waitForPost(untilMs)) {
          counts.add('listenTimeouts');
          throw new QueueError('LISTEN_TIMEOUT', { details: { waitMs, oracle: 'ORA-25254' } });
        }
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

  async #dequeue(
    subscriber: string,
    { waitMs = 0, visibility = 'commit' }: SharedDequeueOptions,
  ): Promise<Message | undefined> {
    const { memory, counts, clock } = this.#parts;
    const untilMs = clock.monotonicMs() + validWaitMs(waitMs);
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
      const [message] = await session.dequeue(queue, { subscriber });
      if (message === undefined) counts.add('dequeuedNothing');
      else if (visibility === 'commit') this.#dequeuedFor.push(subscriber);
      else {
        await session.commit();
        object.changeReady([slot], -1);
        counts.add('dequeued');
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
    const { memory, counts, clock, object } = this.#parts;
    object.assertOpen();
    const startMs = clock.monotonicMs();
    if (startMs >= untilMs) return 'time is up';
    this.#state = state;
    const wakeAt = memory.session(this.id, 'wake');
    const outcome = Atomics.wait(memory.words, wakeAt, wakes, Math.min(pollMs, untilMs - startMs));
    this.#state = 'open';
    const [sleeps, ms] =
      state === 'listening'
        ? (['listenSleeps', 'listenMs'] as const)
        : (['dequeueSleeps', 'dequeueMs'] as const);
    counts.add(sleeps);
    counts.add(ms, clock.monotonicMs() - startMs);
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
      const [enqueuedFor, dequeuedFor] = this.#endTransaction();
      await this.#transaction.commit();
      const slots = object.count({ enqueuedFor, dequeuedFor });
      counts.add('enqueued', enqueuedFor.length);
      counts.add('dequeued', dequeuedFor.length);
      if (slots.length > 0) this.#announce(slots);
    });
  }

  rollback(): Promise<void> {
    return this.#run(() => this.#rollback());
  }

  async #rollback(): Promise<void> {
    const [, returned] = this.#endTransaction();
    await this.#transaction.rollback();
    if (returned.length === 0) return;
    this.#announce(this.#parts.object.look((table) => returned.map((name) => table.slotOf(name))));
  }

  #endTransaction(): [enqueuedFor: (readonly string[] | null)[], dequeuedFor: string[]] {
    const [enqueuedFor, dequeuedFor] = [this.#enqueuedFor, this.#dequeuedFor];
    this.#enqueuedFor = [];
    this.#dequeuedFor = [];
    return [enqueuedFor, dequeuedFor];
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.#run(async () => {
      this.#isClosed = true;
      if (!this.#parts.object.isClosed) await this.#rollback();
      await this.#parts.client.close();
      this.#state = 'closed';
    });
  }

  async #run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new QueueError('SESSION_CLOSED', { details: { session: this.id } });
    if (this.#isBusy) throw new QueueError('SESSION_BUSY', { details: { session: this.id } });
    this.#isBusy = true;
    try {
      return await call();
    } finally {
      this.#isBusy = false;
    }
  }
}

function validWaitMs(waitMs: number): number {
  if (Number.isFinite(waitMs) && waitMs >= 0 && waitMs <= limits.waitMsMax) return waitMs;
  throw new QueueError('OPTIONS_INVALID', { message: `waitMs must be 0 to ${limits.waitMsMax}` });
}
