/**
 * What the bench needs of a queue, ours or another. A driver runs inside the client process of a trial; its server, if
 * it has one, is started by the bench (`servers/`). Payloads cross as bytes; what is not a payload is the driver's own.
 */

import type { PayloadIdentity } from '@shardlab/lab';

export interface ClientOptions {
  /** Folder of an embedded system's files. */
  dir: string;
  /** Where servers listen: paths of Unix sockets or URLs. None for what has no server, several for a cluster. */
  endpoints: readonly string[];
  durability: string;
  /** This process among those of the trial, from 1: an embedded instance has the same number. */
  process: number;
  /** The first process of a trial makes the queue. */
  creates: boolean;
  /** Sessions of either kind in this process: what connection pools are sized for. */
  enqueuers: number;
  dequeuers: number;
  /** Messages that one transaction enqueues or dequeues. */
  operations: number;
  /** 0: a queue. Else a topic with so many subscribers, of which consumer `i` serves number `i` modulo theirs. */
  subscribers: number;
  /** Emulated: what every sync takes beyond the disk's own time, milliseconds. Only our own engine knows it. */
  emulatedSyncMs: number;
}

export type OpenClient = (options: ClientOptions) => Promise<QueueClient>;

export interface QueueClient {
  /** Durability as the system itself states it, read back after opening: "PRAGMA synchronous = 2". */
  readonly stated: string;
  openProducer(): Promise<Producer>;
  /** Starts consumers of this process; they go on until stopped, and a failure of one ends the process. */
  consume(options: ConsumeOptions): Promise<Consumption>;
  /** Messages in the queue, held ones included, when nothing is under way; of a topic, those of a subscriber. */
  depth(subscriber: number): Promise<number>;
  close(): Promise<void>;
}

export interface Producer {
  /** One transaction; resolves when the system acknowledges it as durable as it promises. */
  send(payloads: readonly Buffer[]): Promise<void>;
}

export interface ConsumeOptions {
  consumers: number;
  /** Messages that one transaction of a consumer takes at most. */
  operations: number;
  deliveries: DeliverySink;
}

/** Where a driver reports each delivery. A message that was damaged is reported like any other. */
export interface DeliverySink {
  /** Call once for each hand-out, as soon as the client has the bytes; pass the result on to `consumed`. */
  handedOut(payload: Buffer, consumer: number): Delivery;
  /** Call when the system has acknowledged the consumption by a consumer. */
  consumed(deliveries: readonly Delivery[], consumer: number): void;
}

/** Opaque to drivers: what a payload turned out to be; null if it was damaged. */
export type Delivery = PayloadIdentity | null;

export interface Consumption {
  /** Takes no more messages; resolves when nothing that was taken is unfinished. */
  stop(): Promise<void>;
}
