/** A topic that sessions on worker threads of one process use over shared memory: dequeue by name, and listen. */
import type { Message, NewMessage } from './message.ts';
import type { SubscriberSpec } from './subscriber.ts';
import type { WaitStats } from './waits.ts';

export interface ShareQueueOptions {
  /** Name of a topic of the instance. */
  queue: string;
  /** Sessions that can be open at a time, 1 to 256; default 256. */
  sessionsMax?: number;
  /** Subscribers, durable ones and temporary ones together, 1 to 1,024 (the default). */
  subscribersMax?: number;
  /**
   * Copies of the queue's metadata object, 1 (the default) to 254. Each has a mutex of its own, and a session uses one copy:
   * what Oracle does with an object that is marked hot.
   */
  copies?: number;
  /**
   * Events that each session keeps of what it does, for a picture of a moment: the latest, 0 (the default) to 4,096. Each get then
   * reads the clock once more.
   */
  traceEventsMax?: number;
}

/** The data that a worker thread needs to open sessions: pass it as `workerData`, or post it. */
export interface SharedQueueHandle {
  readonly queue: string;
  /** Socket of the instance. */
  readonly path: string;
  readonly sessionsMax: number;
  readonly subscribersMax: number;
  readonly copies: number;
  readonly words: SharedArrayBuffer;
  readonly names: SharedArrayBuffer;
  readonly statistics: SharedArrayBuffer;
  readonly traceEventsMax: number;
  readonly trace: SharedArrayBuffer;
}

/** An event of a session, with times of the machine's monotonic clock, ms. */
export interface SessionEvent {
  session: number;
  /**
   * `mutex` and `latch`: a get of one. `posted`: it has posted a commit to those who listen. `woken`: a post has woken it. `found`
   * and `found nothing`: what a listener saw then. `dequeued`: it has a message.
   */
  kind: 'posted' | 'woken' | 'found' | 'found nothing' | 'mutex' | 'latch' | 'dequeued';
  /** When a get was called, when it succeeded, and when it was released; of other events all three are the same. */
  calledMs: number;
  gotMs: number;
  endedMs: number;
}

/** The owner's side, in the thread of the instance. */
export interface SharedQueue {
  readonly handle: SharedQueueHandle;
  /** Adds a subscriber to the topic and to the shared table. Throws `SUBSCRIBERS_FULL`, and what `Instance.subscribe` does. */
  subscribe(subscriber: SubscriberSpec): Promise<void>;
  statistics(): SharedQueueStatistics;
  /**
   * Waits of its sessions since they were opened: for each other, for messages and for their instance. `sessions`: of those with
   * these numbers only.
   */
  waits(sessions?: readonly number[]): WaitStats[];
  /** The latest events of the sessions, ordered by time: see `traceEventsMax`. */
  trace(): SessionEvent[];
  /** Ends waits and later calls of all sessions with `INSTANCE_CLOSED`. The instance stays open. */
  close(): Promise<void>;
}

export interface SharedEnqueueOptions {
  /** Default `commit`. `immediate`: in a transaction of its own, visible when the call resolves. */
  visibility?: 'commit' | 'immediate';
}

export interface SharedDequeueOptions extends SharedEnqueueOptions {
  /** How long to wait for a message, ms; 0 (the default) does not wait. */
  waitMs?: number;
}

/**
 * A session of the instance on a worker thread. Waits block the thread, so a thread that waits has one session. Calls must
 * not overlap (`SESSION_BUSY`).
 */
export interface ThreadSession {
  /** Number of the session in the shared memory, from 1. */
  readonly id: number;
  /**
   * Enqueues for the message's recipients, by default all subscribers. A recipient that does not subscribe becomes a temporary
   * subscriber. Such a subscriber is removed when its slot is needed and it has no messages (`SUBSCRIBERS_FULL` if none can be
   * removed). That can happen before the first message to it is committed: the commit then rejects with `SUBSCRIBER_NOT_FOUND`. With
   * visibility `immediate` it cannot.
   */
  enqueue(message: NewMessage, options?: SharedEnqueueOptions): Promise<void>;
  /**
   * Waits until one of the subscribers has a message, and returns the name of the first that has. A dequeue may still find none:
   * another session may have taken the message without having committed, or may take it meanwhile. Throws `SUBSCRIBER_NOT_FOUND`,
   * `OPTIONS_INVALID` without any subscriber, and `LISTEN_TIMEOUT` after `waitMs`.
   */
  listen(subscribers: readonly string[], waitMs: number): Promise<string>;
  /** The subscriber's next message; undefined if there is none for `waitMs`. */
  dequeue(subscriber: string, options?: SharedDequeueOptions): Promise<Message | undefined>;
  /** Commits what was enqueued and dequeued with visibility `commit`. */
  commit(): Promise<void>;
  /** Returns the dequeued messages, and wakes listening sessions for them. */
  rollback(): Promise<void>;
  /** Rolls back and ends the session. */
  close(): Promise<void>;
}

/** Counters of a session's gets of a latch or a mutex. */
export interface GuardStatistics {
  gets: number;
  /** Gets that did not succeed at once. Each ends as a spin get or sleeps. */
  misses: number;
  /** Misses that succeeded while they spun. */
  spinGets: number;
  /** Sleeps of all gets. */
  sleeps: number;
  /** Sleeps of a get after its first: misses = spinGets + sleeps − recurrentSleeps. */
  recurrentSleeps: number;
  /** Time asleep, ms, up to when it was woken: what it then waits for a core is in `runnableMs` of the session. */
  sleepMs: number;
  /** From the call to the release, ms, times without a core included. Divided by the gets it is the documents' "ns per get". */
  totalMs: number;
  maxMs: number;
  /** Gets by that time: element i counts those of 2^i up to 2^(i+1) ns. */
  histogram: number[];
}

export interface ThreadSessionStatistics {
  session: number;
  /** `listening`: in `listen`, on the channel. `waiting`: in `dequeue`. */
  state: 'free' | 'open' | 'listening' | 'waiting' | 'closed';
  /** Locks and pins of the metadata object that it took. */
  locks: number;
  pins: number;
  /** The latch of the broadcast channel. */
  latch: GuardStatistics;
  /** The mutex of its copy of the metadata object. */
  mutex: GuardStatistics;
  enqueued: number;
  /** Messages whose consumption is committed. */
  dequeued: number;
  /** Dequeues that saw a ready message in the count and found none. */
  dequeuedNothing: number;
  /** Calls of `listen` that returned a subscriber, and that timed out. */
  listens: number;
  listenTimeouts: number;
  /** Times that a post woke it while it listened, and those that left it without a message. */
  wakeUps: number;
  falseWakeUps: number;
  /** Posts that these wake-ups took; more than the wake-ups where several fell together. */
  postsTaken: number;
  /** Times that it woke in a dequeue, because a message came for its subscriber. */
  messageWakeUps: number;
  /** Waits that ended with the internal poll instead of a wake-up. */
  polls: number;
  /** Waits for messages in `listen` and in `dequeue`, a new one after each poll, and their time, ms. */
  listenSleeps: number;
  listenMs: number;
  dequeueSleeps: number;
  dequeueMs: number;
  /** Waits for answers of the instance to commits, and to other calls, and their time, ms. */
  commits: number;
  commitMs: number;
  calls: number;
  callMs: number;
  /** Time since it was opened, ms: up to now if it is in a wait, else up to the latest beginning or end of a wait. */
  elapsedMs: number;
  /**
   * Times that the kernel's scheduler counted for its thread since then, ms: CPU time; the time in which the thread was runnable
   * and waited for a core; and `preemptedMs`, the part of `runnableMs` after it lost its core while it was in no wait. Sessions
   * that share a thread each have the times of the whole thread. Systems other than Linux report nothing as runnable.
   */
  cpuMs: number;
  runnableMs: number;
  preemptedMs: number;
}

export interface SharedQueueStatistics {
  /** Statistics of each session that was opened, including closed ones as long as no other has their number. */
  sessions: ThreadSessionStatistics[];
  /** Posts on the broadcast channel. */
  posts: number;
  /** Sessions subscribed to it now. */
  listeners: number;
  /** Over all copies of the metadata object, now. */
  locksHeld: number;
  pinsHeld: number;
  subscribers: { name: string; temporary: boolean; ready: number }[];
  /** Temporary subscribers that were made, gone ones included. */
  temporaryMade: number;
}
