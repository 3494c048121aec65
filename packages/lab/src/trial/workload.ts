/** What the sessions of one instance share, and when they stop. */
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { QueueError, type Session } from '@shardlab/engine';
import { BacklogGate } from './backlog-gate.ts';
import type { Clock } from './clock.ts';
import type { Host } from './host.ts';
import { DeliveryOrder, type HandOutOrder, Ledger, SightedMessages, SightOrder } from './ledger.ts';
import type { Meter } from './meter.ts';
import type { PayloadForge } from './payload.ts';
import type { WorkerConfig } from './protocol.ts';
import { RoundTrips } from './round-trips.ts';
import type { StreamedForge } from './streamed-payload.ts';

/** A turn of the event loop is forced this often, so that phases change and ticks go out while every commit is quick. */
const turnMs = 8;

/** Between two tries while an instance is served by nobody; most of the time the connection itself waits. */
const interruptionPauseMs = 2;

/** With these nothing was done, and the call may be made again: what a client meets when its instance fails over. */
const interruptions: readonly string[] = [
  'TX_NOT_COMMITTED',
  'INSTANCE_UNREACHABLE',
  'INSTANCE_CLOSED',
  'LEASE_LAPSED',
];

/** The same while the queue becomes a sharded one. */
const conversions: readonly string[] = ['ENQUEUE_STOPPED', 'DEQUEUE_STOPPED', 'QUEUE_CONVERTED'];

export interface WorkloadOptions {
  host: Host;
  config: WorkerConfig;
  clock: Clock;
  meter: Meter;
  forge: PayloadForge;
  streams: StreamedForge | null;
}

export class Workload {
  readonly host: Host;
  readonly config: WorkerConfig;
  readonly clock: Clock;
  readonly meter: Meter;
  /** By outlet: each of them gets every message. */
  readonly ledgers: readonly Ledger[];
  readonly forge: PayloadForge;
  /** Null where a message holds its payload. */
  readonly streams: StreamedForge | null;
  readonly gate: BacklogGate;
  /** Null where calls have no round trip. */
  readonly roundTrips: RoundTrips | null;
  /** Set when enqueuers must begin no further transaction. */
  stopped = false;
  /** Set when dequeuers must begin no further call. */
  drainOver = false;
  readonly #sealed = new AbortController();
  /** By outlet. */
  readonly #orders: readonly DeliveryOrder[];
  readonly #sighted: readonly SightedMessages[];
  #lastTurnMs: number;

  constructor({ host, config, clock, meter, forge, streams }: WorkloadOptions) {
    this.host = host;
    this.config = config;
    this.clock = clock;
    this.meter = meter;
    this.ledgers = config.layout.outlets.map(() => new Ledger(forge));
    this.forge = forge;
    this.streams = streams;
    this.gate = new BacklogGate(config.backlogMax + config.backlog);
    const record = (ms: number) => host.waits.record('client round trip', ms);
    this.roundTrips =
      config.roundTripMs > 0 ? new RoundTrips({ ms: config.roundTripMs, clock, record }) : null;
    this.#orders = config.layout.outlets.map(() => new DeliveryOrder());
    this.#sighted = config.layout.outlets.map(() => new SightedMessages());
    this.#lastTurnMs = clock();
    setMaxListeners(0, this.#sealed.signal);
  }

  stopEnqueuers(): void {
    this.stopped = true;
    this.gate.release();
  }

  /** No enqueuer of any instance will commit again. Ends the waits for messages that are under way. */
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

  /** What a dequeuer's hand-outs are checked against: see `OrderScope`. */
  orderOfDequeuer(outletNo: number): HandOutOrder {
    switch (this.config.orderScope) {
      case 'instance':
        return this.#orders[outletNo]!;
      case 'session':
        return new DeliveryOrder();
      case 'sight':
        return new SightOrder(this.#sighted[outletNo]!);
    }
  }

  /** Whether nothing waits at an outlet. Call after the seal: from then on what waits only gets less. */
  async isDrained(outletNo: number): Promise<boolean> {
    return (await this.host.waiting(this.config.layout.outlets[outletNo]!)) === 0;
  }

  /**
   * After a failed call of a session: resolves when the transaction may be made again, since its instance failed over or its
   * queue is being converted, and nothing of it was done. Any other error is thrown on.
   */
  async outlive(session: Session, error: unknown): Promise<void> {
    if (!this.#isPassing(error)) throw error;
    await pause(interruptionPauseMs);
    try {
      await session.rollback();
    } catch (again) {
      if (!this.#isPassing(again)) throw again;
    }
  }

  #isPassing(error: unknown): boolean {
    const { sessions, converts } = this.config;
    const passing = [...(sessions === 'remote' ? interruptions : []), ...(converts ? conversions : [])];
    return error instanceof QueueError && passing.includes(error.code);
  }

  /** Gives timers and messages of the coordinator their turn if none came for a while. */
  async breathe(): Promise<void> {
    if (this.clock() - this.#lastTurnMs < turnMs) return;
    await nextTurn();
    this.#lastTurnMs = this.clock();
  }
}
