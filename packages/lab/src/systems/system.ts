/** A system that programs compare: a driver, with a server if it needs one, in one of its modes. */
import type { SystemInfo } from '@shardlab/contract';
import type { ServerKind } from './driver/server.ts';
import type { DriverName } from './drivers.ts';

export interface System {
  info: SystemInfo;
  driver: DriverName;
  server: ServerKind | null;
  /** The durability setting of driver and server; empty if there is no choice. */
  durability: string;
  /** Whether a message is synced to the disk before it is acknowledged. */
  synced: boolean;
  /** A dequeue removes its messages before the consumer has them. */
  atMostOnce?: true;
  /**
   * Scope in which a system promises first deliveries in the order of their enqueuer: the queue, whichever process asks, all
   * consumers of a process, each consumer, or none.
   */
  order: 'queue' | 'process' | 'consumer' | 'none';
  /** Whether a client can use several queues at once. */
  queues: 'one' | 'several';
  /** Client libraries that are installed apart from the product's (`peers/client-packages.ts`). */
  packages: readonly string[];
  /** Client processes of an embedded system, or processes of our own server; others have one. */
  instances: number;
}
