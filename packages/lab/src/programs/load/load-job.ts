/** The messages between a trial and a client process, which does one job and ends. */
import type { SampledTraces } from '@shardlab/contract';
import type { LedgerReport } from '../../integrity/ledger.ts';
import type { SessionWindowResult } from '../../meters/session-window.ts';
import type { MessageCounts } from '../../meters/steadiness.ts';
import type { ClientOptions } from '../../systems/driver/driver.ts';
import type { DriverName } from '../../systems/drivers.ts';
import type { System } from '../../systems/system.ts';

/** One client process in one step of a trial: enqueuers, dequeuers, or both, for a bounded time. */
export interface LoadJob {
  driver: DriverName;
  order: System['order'];
  client: ClientOptions;
  payloadBytes: number;
  seed: number;
  /** The same for all steps of a trial; detects messages of other trials. */
  nonce: number;
  /** Numbers of its enqueuers, each used once in a trial. */
  enqueuers: number[];
  dequeuers: number;
  /** Open loop: transactions that this process begins per second, whether or not earlier ones have ended. Null: closed loop. */
  transactionsPerSec: number | null;
  /** Enqueuers in a closed loop wait while this many of their messages are in the queue. */
  backlogMax: number;
  /** Messages that are in the queue already when the job starts. */
  standing: number;
  warmupMs: number;
  measureMs: number;
  /** Maximum time to consume the remaining messages, milliseconds. */
  drainMs: number;
  /** After the measured window: enqueues in bulk until this many messages are in the queue, or the time is over. */
  fill: { messages: number; withinMs: number } | null;
  serverPids: number[];
  /** The process is killed with its files open, once all is acknowledged: what follows is a recovery. */
  isKilled: boolean;
}

export interface LoadWindow extends MessageCounts, SessionWindowResult {
  /** CPU time of client and server together; null if the system does not report it. */
  cpuUs: number | null;
  /** CPU time of the server alone; null also if the system has no server. */
  serverCpuUs: number | null;
  counts: WindowCounts;
  firstHalf: MessageCounts;
}

/** What the work in a window caused; null where it is not counted. */
export interface WindowCounts {
  /** Synced groups or transactions, and inserted rows, as the system counts them. */
  syncs: number | null;
  rows: number | null;
  /** Bytes bound for the disk, by the count of the kernel; of systems without a server. */
  diskBytes: number | null;
  /** Bytes of the objects that the session thread made, load generator included. */
  heapBytes: number | null;
}

export interface LoadResult {
  /** Durability as the system reports it. */
  stated: string;
  /** Time from the start of opening until the process could serve. */
  openMs: number;
  window: LoadWindow;
  /** Null if messages are not traced, or none are dequeued. */
  traces: SampledTraces | null;
  /** Encoded histograms: from the intended send to the delivery, of messages whose send is in the window; … */
  latency: string;
  /** … from the intended start of a transaction to its start; … */
  scheduleLag: string;
  /** … and how late a timer of the session thread fired. */
  eventLoopDelay: string;
  residentBytesMax: number;
  committed: number;
  consumed: number;
  /** One for a queue; of a topic one for each subscriber. */
  ledgers: LedgerReport[];
  /** Messages in the queue at the end, or before each subscriber, as this process sees them. */
  depths: number[];
}

export type ToClient =
  | { type: 'job'; job: LoadJob }
  /** Start on the monotonic clock that all processes share. */
  | { type: 'run'; startAtMs: number }
  /** No process will enqueue any more. */
  | { type: 'sealed' }
  | { type: 'finish' };

export type FromClient =
  | { type: 'opened' }
  | { type: 'enqueued' }
  | { type: 'drained' }
  | { type: 'result'; result: LoadResult };
