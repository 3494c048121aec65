/** The messages between the soak test and the process it observes. */
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
  /** Run at full speed: each enqueuer starts its next transaction when the previous commit is durable. */
  | { do: 'saturate'; ms: number }
  /** Run at a fixed rate: transactions start when they are due, however late earlier ones are. */
  | { do: 'steady'; perSec: number; ms: number; windowMs: number }
  /** Consume everything and close the instance. */
  | { do: 'end' };

export interface SoakWindow {
  /** End of the window, milliseconds since the steady load began. */
  atMs: number;
  consumed: number;
  /** Time from when a message was due until its delivery. */
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
