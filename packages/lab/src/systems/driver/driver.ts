/**
 * The interface between the lab and a queue system. A driver runs inside the client process of a trial; its server, if it
 * has one, is started for the trial (`server.ts`). Payloads are bytes; everything else is up to the driver.
 */

import type { SessionTime, WaitEvent, WaitLog, WaitRecorder } from '@shardlab/engine';
import type { Interval } from '../../integrity/delivery-spans.ts';
import type { PayloadIdentity } from '../../integrity/payload.ts';
import { serverCall } from '../../meters/load-waits.ts';
import type { TracedQueue } from '../../meters/trace-sampler.ts';

export interface ClientOptions {
  /** Folder of an embedded system's files. */
  dir: string;
  /** Unix sockets or URLs of the servers: none for embedded systems, several for a cluster. */
  endpoints: readonly string[];
  durability: string;
  /** Number of this process in the trial, from 1; also the number of an embedded instance. */
  process: number;
  /** Whether this process, the first of the trial, creates the queues. */
  createsQueue: boolean;
  /** Enqueuers and dequeuers in this process, by which connection pools are sized. */
  enqueuers: number;
  dequeuers: number;
  /** Messages that one transaction enqueues or dequeues. */
  operations: number;
  /** 0 for a queue. Otherwise a topic with this many subscribers; consumer `i` serves subscriber `i` modulo their number. */
  subscribers: number;
  /** Emulates a slower disk: the least time of a sync, milliseconds. Only our own engine supports it. */
  emulatedSyncMs: number;
  /**
   * Queues, default 1: producer `i` and consumer `i` use queue `i` modulo their number. Redis, our engine and the null
   * system support several.
   */
  queues?: number;
  /** The threshold of a buffered queue's flow control, messages; default: that of the engine. Other systems have none. */
  messagesMax?: number;
}

export type OpenClient = (options: ClientOptions) => Promise<QueueClient>;

export interface QueueClient {
  /** Durability as reported by the system after opening: "PRAGMA synchronous = 2". */
  readonly stated: string;
  /** The queue, or the first of several, where the system traces its messages and this process sees all of their events. */
  readonly traced?: TracedQueue;
  /** The waits and times of all its sessions, where the system keeps them: our engine in this process. Otherwise they are in `book`s. */
  readonly waits?: WaitLog;
  /** What it has written since it was opened, where the system in this process counts it. */
  readonly written?: () => WrittenCounts;
  /** The `i`-th call returns producer `i`, from 0. `book`: for the times of sessions. */
  openProducer(book: WaitRecorder): Promise<Producer>;
  /** Starts the consumers of this process. They run until stopped; a failing consumer ends the process. */
  consume(options: ConsumeOptions): Promise<Consumption>;
  /** Messages in all queues, held ones included, while nothing is in progress; for a topic, those of one subscriber. */
  depth(subscriber: number): Promise<number>;
  close(): Promise<void>;
}

export interface WrittenCounts {
  /** Groups or transactions that were synced, without checkpoints. */
  syncs: number;
  /** Rows of tables that were inserted. */
  rows?: number;
}

export interface Producer {
  /** The time book of its session, if calls are marked there by what they wait for. Otherwise each is a server call. */
  readonly time?: SessionTime;
  /**
   * Runs one transaction; resolves when the system acknowledges it with its promised durability. Rejects with
   * `EnqueueRefused` if flow control refused it, so that nothing was enqueued.
   */
  send(payloads: readonly Buffer[]): Promise<void>;
}

/** What its session waits for in a call, if the driver does not mark that itself. */
export const eventOfCalls = ({ time }: Producer): WaitEvent | undefined =>
  time === undefined ? serverCall : undefined;

/** The system has reached its limit of messages and refused the transaction. */
export class EnqueueRefused extends Error {
  override readonly name = 'EnqueueRefused';
  /** The system's own code. */
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super(`The enqueue was refused: ${code}`, { cause });
    this.code = code;
  }
}

export interface ConsumeOptions {
  consumers: number;
  /** Maximum messages per transaction of a consumer. */
  operations: number;
  deliveries: DeliverySink;
  /** For the times of sessions. */
  book: WaitRecorder;
}

/** Receives each delivery of a driver. Damaged messages are reported like all others. */
export interface DeliverySink {
  /**
   * Call it once per delivery, as soon as the client has the bytes; pass the result to `consumed`. `deliveryCount`: 1 if the system
   * reports none. `call`: the dequeue that delivered it, on the machine's monotonic clock, if the system promises the queue's order.
   */
  delivered(payload: Buffer, consumer: number, deliveryCount?: number, call?: Interval): Delivery;
  /** Call it with the deliveries of one call, in order, if some of them were delivered before. */
  redelivered(deliveries: readonly Delivery[], consumer: number): void;
  /** Call it when the system has acknowledged the consumption. */
  consumed(deliveries: readonly Delivery[], consumer: number): void;
}

/** Opaque to drivers: the identity of a payload; null if it is damaged. */
export type Delivery = PayloadIdentity | null;

export interface Consumption {
  /** Stops dequeuing; resolves when all dequeued messages are finished. Rejects with the error of a consumer that failed. */
  stop(): Promise<void>;
}
