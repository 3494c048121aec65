/** State that the sessions of one instance share, including when they stop. */
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { QueueError, type Session, type SessionTime } from '@shardlab/engine';
import type { Book } from '../../../integrity/book.ts';
import {
  DeliveryOrder,
  FirstSightOrder,
  Ledger,
  type OrderCheck,
  RecoveredOrder,
  SeenMessages,
} from '../../../integrity/ledger.ts';
import type { PayloadCodec } from '../../../integrity/payload.ts';
import type { Clock } from '../../../meters/clock.ts';
import { BacklogGate } from '../../../trial/backlog-gate.ts';
import { RoundTrips } from '../../../trial/round-trips.ts';
import type { Host } from './host.ts';
import type { Meter } from './meter.ts';
import type { WorkerConfig } from './protocol.ts';
import type { StreamedPayloadCodec } from './streamed-payload.ts';

/** The event loop gets a turn at least this often, so that phases change and ticks are sent while commits are fast. */
const turnMs = 8;

/** Pause between attempts while an instance is not served; usually the connection itself waits longer. */
const retryPauseMs = 2;

/** Errors that a client gets while its instance fails over. Nothing was changed, so the call can be repeated. */
const failoverCodes: readonly string[] = [
  'TX_NOT_COMMITTED',
  'INSTANCE_UNREACHABLE',
  'INSTANCE_CLOSED',
  'LEASE_LAPSED',
];

/** The same while the queue is being converted. */
const conversionCodes: readonly string[] = ['ENQUEUE_STOPPED', 'DEQUEUE_STOPPED', 'QUEUE_CONVERTED'];

export interface WorkloadOptions {
  host: Host;
  config: WorkerConfig;
  clock: Clock;
  meter: Meter;
  codec: PayloadCodec;
  streams: StreamedPayloadCodec | null;
  book: Book | null;
}

export class Workload {
  readonly host: Host;
  readonly config: WorkerConfig;
  readonly clock: Clock;
  readonly meter: Meter;
  /** Ledgers by source: each source receives every message. */
  readonly ledgers: readonly Ledger[];
  readonly codec: PayloadCodec;
  /** Null if payloads are not streamed. */
  readonly streams: StreamedPayloadCodec | null;
  /** Null unless the processes of the trial are killed. */
  readonly book: Book | null;
  readonly gate: BacklogGate;
  /** Null if there is no emulated round trip. */
  readonly roundTrips: RoundTrips | null;
  /** Set when enqueuers must not start another transaction. */
  stopped = false;
  /** Set when dequeuers must not start another call. */
  drainOver = false;
  /** Names by the numbers that the instance gave the sessions: "enqueuer 2.3" is the third one of instance 2. */
  readonly sessionNames: Record<number, string> = {};
  readonly #sealed = new AbortController();
  /** Orders by source. */
  readonly #orders: readonly DeliveryOrder[];
  readonly #seen: readonly SeenMessages[];
  #lastTurnMs: number;

  constructor({ host, config, clock, meter, codec, streams, book }: WorkloadOptions) {
    this.host = host;
    this.config = config;
    this.clock = clock;
    this.meter = meter;
    const { isShared } = config;
    this.ledgers = config.layout.dequeueSources.map(() => new Ledger(codec, { isShared }));
    this.codec = codec;
    this.streams = streams;
    this.book = book;
    this.gate = new BacklogGate(config.backlogMax + config.backlog);
    this.roundTrips = config.roundTripMs > 0 ? new RoundTrips({ ms: config.roundTripMs, clock }) : null;
    this.#orders = config.layout.dequeueSources.map(() => new DeliveryOrder());
    this.#seen = config.layout.dequeueSources.map(() => new SeenMessages());
    this.#lastTurnMs = clock();
    setMaxListeners(0, this.#sealed.signal);
  }

  /** `index` counts from 0 among the sessions of this process. */
  nameSession({ number }: SessionTime, role: 'enqueuer' | 'dequeuer', index: number): void {
    this.sessionNames[number] = `${role} ${this.config.instance}.${index + 1}`;
  }

  stopEnqueuers(): void {
    this.stopped = true;
    this.gate.disable();
  }

  /** Call it when no enqueuer of any instance will commit again. Ends current waits for messages. */
  seal(): void {
    this.#sealed.abort();
  }

  get isSealed(): boolean {
    return this.#sealed.signal.aborted;
  }

  get sealSignal(): AbortSignal {
    return this.#sealed.signal;
  }

  endDrain(): void {
    this.drainOver = true;
    this.seal();
  }

  /** The order check for a dequeuer's deliveries: see `OrderScope`. */
  orderOfDequeuer(sourceIndex: number): OrderCheck {
    switch (this.config.orderScope) {
      case 'instance':
        return this.#orders[sourceIndex]!;
      case 'session':
        return new DeliveryOrder();
      case 'sight':
        return new FirstSightOrder(this.#seen[sourceIndex]!);
      case 'recovered':
        return new RecoveredOrder();
    }
  }

  /** Whether a source has no ready messages. Call it after sealing, when the number can only fall. */
  async isDrained(sourceIndex: number): Promise<boolean> {
    return (await this.host.waitingCount(this.config.layout.dequeueSources[sourceIndex]!)) === 0;
  }

  /**
   * Call it after a failed call. If the transaction was not committed because of a failover or a conversion, resolves when it can
   * be repeated; otherwise rethrows the error.
   */
  async rollbackIfTransient(session: Session, error: unknown): Promise<void> {
    if (!this.#isTransient(error)) throw error;
    await pause(retryPauseMs);
    try {
      await session.rollback();
    } catch (again) {
      if (!this.#isTransient(again)) throw again;
    }
  }

  #isTransient(error: unknown): boolean {
    const { sessions, converts } = this.config;
    const passing = [...(sessions === 'remote' ? failoverCodes : []), ...(converts ? conversionCodes : [])];
    return error instanceof QueueError && passing.includes(error.code);
  }

  /** Whether timers and messages of the coordinator have not run for a while: then `yieldToEventLoop` is due. `nowMs`: a recent reading of the clock. */
  isTurnDue(nowMs: number): boolean {
    return nowMs - this.#lastTurnMs >= turnMs;
  }

  async yieldToEventLoop(): Promise<void> {
    await nextTurn();
    this.#lastTurnMs = this.clock();
  }
}
