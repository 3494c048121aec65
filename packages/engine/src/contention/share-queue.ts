/** Shares a topic with sessions on worker threads: puts its subscribers into shared memory and serves their connections. */

import { QueueError } from '../api/errors.ts';
import type { Instance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import type {
  SessionEvent,
  SharedQueue,
  SharedQueueHandle,
  SharedQueueStatistics,
  ShareQueueOptions,
} from '../api/shared-queue.ts';
import type { SubscriberSpec } from '../api/subscriber.ts';
import type { WaitStats } from '../api/waits.ts';
import { assertFields } from '../model/call-arguments.ts';
import { shareQueueFields, subscriberFields } from '../model/call-fields.ts';
import type { ThreadSessionNumber } from '../model/ids.ts';
import { pause } from '../model/pause.ts';
import { nodePorts } from '../node-ports.ts';
import type { TopicChange } from '../runtime/follow-topic.ts';
import { LocalInstance } from '../runtime/local-instance.ts';
import { listenForClients, type ServedInstance } from '../server/serve-instance.ts';
import { socketPath } from '../storage/socket-path.ts';
import { addSubscriber } from './add-subscriber.ts';
import { announce } from './announce.ts';
import { QueueMemory, sessionStates } from './queue-memory.ts';
import type { CountChange } from './queue-object.ts';
import { noThreadClock } from './session-book.ts';
import { SessionCounts, statisticsBytes } from './session-counts.ts';
import { joinSharedMemory } from './session-parts.ts';
import { SessionTrace, traceBytes } from './session-trace.ts';
import { SubscriberTable } from './subscriber-table.ts';
import { waitsOf } from './wait-events.ts';

/** The owner's number in the shared memory. */
const owner = 0;
const closePollMs = 5;

/**
 * The topic's messages must come and go through the sessions of the shared queue: others are not counted. Call it before them.
 * Throws `QUEUE_NOT_FOUND`, `OPTIONS_INVALID`, `SUBSCRIBERS_FULL`.
 */
export async function shareQueue(instance: Instance, options: ShareQueueOptions): Promise<SharedQueue> {
  if (!(instance instanceof LocalInstance))
    throw new QueueError('OPTIONS_INVALID', {
      message: 'Only an instance of this process can share a queue',
    });
  const { queue, sessionsMax, subscribersMax, copies, traceEventsMax } = validated(options);
  if (instance.queue(queue).type !== 'topic')
    throw new QueueError('OPTIONS_INVALID', { message: `${queue} is a queue: only a topic can be shared` });
  const shape = { sessionsMax, subscribersMax, copies };
  // Two shared queues of an instance have a socket each.
  const name = `instance-${instance.id}-threads-${Buffer.from(nodePorts.random.bytes(4)).toString('hex')}.sock`;
  const handle: SharedQueueHandle = {
    queue,
    path: socketPath(instance.dir, name),
    ...shape,
    ...QueueMemory.allocate(shape),
    statistics: new SharedArrayBuffer(statisticsBytes(sessionsMax + 1)),
    traceEventsMax,
    trace: new SharedArrayBuffer(traceBytes({ sessions: sessionsMax + 1, eventsMax: traceEventsMax })),
  };
  const shared = new OwnedSharedQueue(instance, handle);
  shared.closeWithInstance();
  try {
    await shared.readSubscribers();
    await shared.serve();
  } catch (error) {
    await shared.close(); // it follows the topic already
    throw error;
  }
  return shared;
}

function validated(options: ShareQueueOptions): Required<ShareQueueOptions> {
  assertFields(options, shareQueueFields);
  const {
    queue,
    sessionsMax = limits.threadSessionsMax,
    subscribersMax = limits.subscribersMax,
    copies = 1,
    traceEventsMax = 0,
  } = options;
  const bounds = [
    { name: 'sessionsMax', value: sessionsMax, least: 1, most: limits.threadSessionsMax },
    { name: 'subscribersMax', value: subscribersMax, least: 1, most: limits.subscribersMax },
    { name: 'copies', value: copies, least: 1, most: limits.objectCopiesMax },
    { name: 'traceEventsMax', value: traceEventsMax, least: 0, most: limits.traceEventsMax },
  ];
  for (const { name, value, least, most } of bounds)
    if (!Number.isInteger(value) || value < least || value > most)
      throw new QueueError('OPTIONS_INVALID', { message: `${name} must be ${least} to ${most}` });
  return { queue, sessionsMax, subscribersMax, copies, traceEventsMax };
}

class OwnedSharedQueue implements SharedQueue {
  readonly handle: SharedQueueHandle;
  readonly #instance: LocalInstance;
  readonly #memory: QueueMemory;
  readonly #own: ReturnType<typeof joinSharedMemory>;
  readonly #endFollowing: () => void;
  #served: ServedInstance | undefined;
  #withdraw: (() => void) | undefined;

  constructor(instance: LocalInstance, handle: SharedQueueHandle) {
    this.handle = handle;
    this.#instance = instance;
    this.#memory = new QueueMemory(handle, handle);
    const { machineClock: clock, thread } = nodePorts;
    const own = { memory: this.#memory, session: owner, clock, thread, threadClock: noThreadClock };
    this.#own = joinSharedMemory(handle, own);
    this.#endFollowing = instance.followTopic(handle.queue, (change) => this.#onChange(change));
  }

  /**
   * Counts changes that happen later than the session call that caused them, so that only the owner sees them, and wakes the
   * waiting sessions.
   */
  #onChange(change: TopicChange): void {
    const { object, channel } = this.#own;
    const slots = object.count([countChangeOf(change)]);
    if (slots.length > 0) announce(slots, { memory: this.#memory, channel });
  }

  async readSubscribers(): Promise<void> {
    for (const { name, backlog } of this.#instance.subscribers(this.handle.queue)) {
      const ready = backlog === 0 ? 0 : await this.#countMessages(name);
      this.#addRow(name, ready);
    }
  }

  /**
   * Counts by browsing, which shows only messages for the subscriber: its backlog includes those for others that it has not
   * passed over yet. Delayed messages do not count.
   */
  async #countMessages(subscriber: string): Promise<number> {
    let count = 0;
    for (let after: string | null | undefined; after !== null; ) {
      const page = await this.#instance.browse(this.handle.queue, {
        subscriber,
        limit: limits.browseMessagesMax,
        ...(after === undefined ? {} : { after }),
      });
      count += page.messages.filter(({ state }) => state !== 'delayed').length;
      after = page.next;
    }
    return count;
  }

  #addRow(name: string, ready: number): void {
    this.#own.object.changeRows((table) => {
      const { slot } = table.reserve(name);
      table.fill(slot, { temporary: false });
      table.changeCount('ready', { copy: 0, slot, by: ready });
    });
  }

  /** Sessions that wait for messages would wait for ever. */
  closeWithInstance(): void {
    this.#withdraw = this.#instance.closeBefore(() => this.close());
  }

  async serve(): Promise<void> {
    this.#served = await listenForClients(this.#instance, { path: this.handle.path, ports: nodePorts });
  }

  async subscribe(subscriber: SubscriberSpec): Promise<void> {
    assertFields(subscriber, subscriberFields);
    const { queue } = this.handle;
    await addSubscriber(this.#own.object, {
      name: subscriber.name,
      temporary: false,
      subscribe: () => this.#instance.subscribe(queue, subscriber),
      unsubscribe: (evicted) => this.#instance.unsubscribe(queue, evicted),
    });
  }

  statistics(): SharedQueueStatistics {
    const memory = this.#memory;
    const { object, channel } = this.#own;
    const table = new SubscriberTable(memory);
    const nowMs = nodePorts.machineClock.nowMs();
    const stateOf = (session: ThreadSessionNumber) =>
      sessionStates[memory.load(memory.session(session, 'state'))]!;
    const sessions = Array.from({ length: this.handle.sessionsMax }, (_, index) => index + 1);
    return {
      sessions: sessions
        .filter((session) => stateOf(session) !== 'free')
        .map((session) => ({
          session,
          state: stateOf(session),
          ...new SessionCounts(this.handle.statistics, session).read(nowMs),
        })),
      posts: channel.posts,
      listeners: channel.members,
      locksHeld: object.held('locks'),
      pinsHeld: object.held('pins'),
      subscribers: table.slots().map((slot) => ({
        name: table.nameOf(slot),
        temporary: table.isTemporary(slot),
        ready: table.ready(slot),
      })),
      temporaryMade: table.temporaryMade,
    };
  }

  waits(sessions?: readonly ThreadSessionNumber[]): WaitStats[] {
    const all = this.statistics().sessions;
    return waitsOf(sessions === undefined ? all : all.filter(({ session }) => sessions.includes(session)));
  }

  trace(): SessionEvent[] {
    const { trace, traceEventsMax: eventsMax, sessionsMax } = this.handle;
    if (eventsMax === 0) return [];
    const sessions = Array.from({ length: sessionsMax }, (_, index) => index + 1);
    return sessions
      .flatMap((session) => new SessionTrace(trace, { session, eventsMax }).read())
      .sort((a, b) => a.calledMs - b.calledMs);
  }

  async close(): Promise<void> {
    const { object } = this.#own;
    if (object.isClosed) return;
    try {
      object.close();
      for (let session = 1; session <= this.handle.sessionsMax; session += 1) this.#memory.wake(session);
      await this.#whenReleased();
    } finally {
      this.#endFollowing();
      this.#withdraw?.();
      await this.#served?.close();
    }
  }

  /** A session keeps its pin while it takes or commits a message, which must not be cut off. */
  async #whenReleased(): Promise<void> {
    const { machineClock: clock, timers } = nodePorts;
    const untilMs = clock.nowMs() + limits.sharedCloseMsMax;
    const { object } = this.#own;
    while (object.held('pins') + object.held('locks') > 0 && clock.nowMs() < untilMs)
      await pause(timers, closePollMs);
  }
}

function countChangeOf(change: TopicChange): CountChange {
  switch (change.kind) {
    case 'due':
      return { subscribers: change.recipients, ready: 1, later: change.recipients === null ? 0 : -1 };
    case 'withheld':
      return { subscribers: [change.subscriber], ready: -change.messages, later: change.messages };
    case 'returned':
      return { subscribers: [change.subscriber], ready: change.messages, later: -change.messages };
    case 'moved':
      return { subscribers: [change.subscriber], later: -change.messages };
  }
}
