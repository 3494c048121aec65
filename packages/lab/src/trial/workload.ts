/** What the sessions of one instance share, and when they stop. */
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Instance } from '@shardlab/engine';
import { BacklogGate } from './backlog-gate.ts';
import type { Clock } from './clock.ts';
import { DeliveryOrder, Ledger } from './ledger.ts';
import type { Meter } from './meter.ts';
import type { PayloadForge } from './payload.ts';
import type { WorkerConfig } from './protocol.ts';
import { RoundTrips } from './round-trips.ts';

/** How old what `isDrained` looks at may be: hundreds of subscribers ask, and an instance lists all of them at once. */
const drainLookMs = 20;
/** A turn of the event loop is forced this often, so that phases change and ticks go out while every commit is quick. */
const turnMs = 8;

export interface WorkloadOptions {
  instance: Instance;
  config: WorkerConfig;
  clock: Clock;
  meter: Meter;
  forge: PayloadForge;
}

export class Workload {
  readonly instance: Instance;
  readonly config: WorkerConfig;
  readonly clock: Clock;
  readonly meter: Meter;
  /** By outlet: each of them gets every message. */
  readonly ledgers: readonly Ledger[];
  readonly forge: PayloadForge;
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
  #waiting: Map<string, number> = new Map();
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #lastTurnMs: number;

  constructor({ instance, config, clock, meter, forge }: WorkloadOptions) {
    this.instance = instance;
    this.config = config;
    this.clock = clock;
    this.meter = meter;
    this.ledgers = config.layout.outlets.map(() => new Ledger(forge));
    this.forge = forge;
    this.gate = new BacklogGate(config.backlogMax + config.backlog);
    const record = (ms: number) => instance.waits.record('client round trip', ms);
    this.roundTrips =
      config.roundTripMs > 0 ? new RoundTrips({ ms: config.roundTripMs, clock, record }) : null;
    this.#orders = config.layout.outlets.map(() => new DeliveryOrder());
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

  /** The order that a dequeuer's hand-outs are checked against: its outlet's on this instance, or its own (see `DeliveryOrder`). */
  orderOfDequeuer(outletNo: number): DeliveryOrder {
    return this.config.orderScope === 'instance' ? this.#orders[outletNo]! : new DeliveryOrder();
  }

  /** Whether nothing waits at an outlet. Call after the seal: from then on what waits only gets less. */
  isDrained(outletNo: number): boolean {
    const { queue, subscriber } = this.config.layout.outlets[outletNo]!;
    if (subscriber === undefined) return this.instance.queue(queue).ready === 0;
    if (this.clock() - this.#lookedAtMs > drainLookMs) {
      const all = this.instance.subscribers(queue);
      this.#waiting = new Map(all.map(({ name, backlog, held }) => [name, backlog - held]));
      this.#lookedAtMs = this.clock();
    }
    return this.#waiting.get(subscriber) === 0;
  }

  /** Gives timers and messages of the coordinator their turn if none came for a while. */
  async breathe(): Promise<void> {
    if (this.clock() - this.#lastTurnMs < turnMs) return;
    await nextTurn();
    this.#lastTurnMs = this.clock();
  }
}
