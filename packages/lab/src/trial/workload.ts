/** What the sessions of one instance share, and when they stop. */
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Instance } from '@shardlab/engine';
import { BacklogGate } from './backlog-gate.ts';
import type { Clock } from './clock.ts';
import { DeliveryOrder, type Ledger } from './ledger.ts';
import type { Meter } from './meter.ts';
import type { PayloadForge } from './payload.ts';
import type { WorkerConfig } from './protocol.ts';
import { RoundTrips } from './round-trips.ts';

/** A turn of the event loop is forced this often, so that phases change and ticks go out while every commit is quick. */
const turnMs = 8;

export interface WorkloadOptions {
  instance: Instance;
  config: WorkerConfig;
  clock: Clock;
  meter: Meter;
  ledger: Ledger;
  forge: PayloadForge;
}

export class Workload {
  readonly instance: Instance;
  readonly config: WorkerConfig;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly ledger: Ledger;
  readonly forge: PayloadForge;
  readonly gate: BacklogGate;
  /** Null where calls have no round trip. */
  readonly roundTrips: RoundTrips | null;
  /** Set when enqueuers must begin no further transaction. */
  stopped = false;
  /** Set when dequeuers must begin no further call. */
  drainOver = false;
  readonly #sealed = new AbortController();
  readonly #order: DeliveryOrder;
  #lastTurnMs: number;

  constructor({ instance, config, clock, meter, ledger, forge }: WorkloadOptions) {
    this.instance = instance;
    this.config = config;
    this.clock = clock;
    this.meter = meter;
    this.ledger = ledger;
    this.forge = forge;
    this.gate = new BacklogGate(config.backlogMax);
    const record = (ms: number) => instance.waits.record('client round trip', ms);
    this.roundTrips =
      config.roundTripMs > 0 ? new RoundTrips({ ms: config.roundTripMs, clock, record }) : null;
    this.#order = new DeliveryOrder();
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

  /** The order that a dequeuer's hand-outs are checked against: the instance's, or its own (see `DeliveryOrder`). */
  orderOfDequeuer(): DeliveryOrder {
    return this.config.orderScope === 'instance' ? this.#order : new DeliveryOrder();
  }

  /** Gives timers and messages of the coordinator their turn if none came for a while. */
  async breathe(): Promise<void> {
    if (this.clock() - this.#lastTurnMs < turnMs) return;
    await nextTurn();
    this.#lastTurnMs = this.clock();
  }
}
