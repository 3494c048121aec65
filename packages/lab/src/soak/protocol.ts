/** What the soak and the process that it watches say to each other. */
import type { Integrity } from '@shardlab/contract';

export interface SoakConfig {
  dir: string;
  seed: number;
  payloadBytes: number;
  operationsPerTransaction: number;
  enqueuers: number;
  dequeuers: number;
}

export type SoakOrder =
  /** As fast as it goes, each enqueuer begins when its commit is durable. */
  | { do: 'saturate'; ms: number }
  /** Transactions begin when they are due, however late the ones before are. */
  | { do: 'steady'; perSec: number; ms: number; windowMs: number }
  /** Everything is consumed, and the instance is closed. */
  | { do: 'end' };

export interface SoakWindow {
  /** End of the window since the steady load began, milliseconds. */
  atMs: number;
  consumed: number;
  /** From when a message was due to its hand-out. */
  latencyMs: { p50: number; p99: number; max: number };
  backlog: number;
}

export type SoakReply =
  | { type: 'ready' }
  | { type: 'saturated'; perSec: number }
  | { type: 'memory'; atMs: number; bytes: number }
  | { type: 'window'; window: SoakWindow }
  | { type: 'steady'; sent: number; consumed: number; ms: number; backlog: number }
  | { type: 'ended'; integrity: Integrity };
