/**
 * The recorded life of a message on an instance, event by event, and why the message waits now. One message in `traceEvery` is
 * traced, and those whose trace was requested. Events are in memory only, from the opening of the instance on.
 */

import type { MessageEventKind } from './message-event-kinds.ts';

export interface MessageEvent {
  event: MessageEventKind;
  /** Epoch ms, with fractions; of `enqueued` in whole milliseconds. */
  atMs: number;
  instance: number;
  /** The log that the message was in, and its number there: as in its id, unless it was delayed or came from elsewhere. */
  shard: number;
  seq: number;
  /** The partition that stored it; null for a nonpersistent queue, or before the message had one. */
  partition: number | null;
  /** For a topic: the subscriber that the event concerns. Null if it has been removed; absent if the event concerns all. */
  subscriber?: string | null;
  /** Id of the session that enqueued the message, or that it was delivered to. */
  session?: string;
  /** Delivery attempt, from 1. */
  attempt?: number;
  /** The group commit, counted from the opening of the instance. */
  group?: number;
  /** Other transactions and writes in that group. */
  others?: number;
  /** Of `committed`: how long the group was written and synced, ms. */
  writeMs?: number;
  /** Of `delayed`, `paused`, `held` and `extended`: until when, epoch ms. */
  untilMs?: number;
  /** Of `forwarded` and `received`: the instance that it went to or came from. */
  peer?: number;
}

/** Where a message is now. */
export type MessageWhereabouts =
  /** Its group is with the writer. */
  | { state: 'uncommitted' }
  /** It can be delivered. `reason` says why it is not. */
  | {
      state: 'ready';
      reason:
        | 'dequeue-stopped'
        | 'behind-others'
        | 'elsewhere-first'
        | 'partition-damaged'
        | 'being-read'
        | 'no-consumer'
        | 'next';
      /** Messages that are delivered before it: of its shard, and more urgent ones of its queue on this instance. */
      ahead: number;
    }
  | {
      state: 'held';
      /**
       * An open transaction, a timed hold, or a prepared branch of a distributed transaction. `other`: a commit that is being
       * written, the pipeline of a remote consumer, or a forwarding.
       */
      holder: 'transaction' | 'timed-hold' | 'branch' | 'other';
      session?: string;
      /** Since when, epoch ms; absent unless the trace has that delivery. */
      sinceMs?: number;
      /** Of a timed hold, epoch ms. */
      untilMs?: number;
    }
  /** Not due yet, or it was returned and waits for its retry delay; epoch ms. */
  | { state: 'delayed'; reason: 'not-due' | 'retry-delay'; untilMs: number }
  /**
   * It will not be delivered any more: it was consumed, moved elsewhere, or never committed. `partition` is the state of the
   * partition that stored it: with `waits` it is not truncated before message `waitsFor` is consumed.
   */
  | {
      state: 'consumed';
      partition: 'none' | 'filling' | 'waits' | 'retained' | 'truncating' | 'truncated';
      waitsFor?: string;
    }
  /** No message here has this id: it was never given, is on another instance, or was delayed and is not in the trace. */
  | { state: 'unknown' };

/** Whereabouts for one subscriber of a topic, or of a queue, whose `subscriber` is absent. */
export type SubscriberWhereabouts = MessageWhereabouts & { instance: number; subscriber?: string };

export interface MessageTrace {
  queue: string;
  id: string;
  /** The oldest first. */
  events: MessageEvent[];
  /**
   * `complete`: from its enqueue on. `partial`: the earlier events were overwritten by later ones of other messages, or
   * happened before the instance opened. `none`: the message is not traced, or all its events were overwritten.
   */
  coverage: 'complete' | 'partial' | 'none';
  whereabouts: SubscriberWhereabouts[];
  /** One entry for each instance that answered. */
  recorders: TraceRecorderInfo[];
}

export interface TraceRecorderInfo {
  instance: number;
  /** One message in this many is traced, chosen by its number; 0: none. */
  traceEvery: number;
  /** Events that are kept, and those that were overwritten since the instance opened. */
  eventsMax: number;
  events: number;
  overwritten: number;
  /** Number of the queue's next messages that will be traced because of `traceNext`. */
  pending: number;
}

export interface TracedMessage {
  id: string;
  instance: number;
  /** Its last event and the time of that, epoch ms. */
  event: MessageEventKind;
  atMs: number;
}
