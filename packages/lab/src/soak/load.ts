/** The load of a soak test on one instance: sessions that run until they are stopped, and their counters. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Integrity } from '@shardlab/contract';
import type { Instance } from '@shardlab/engine';
import { DeliveryOrder, Ledger, mergeLedgers } from '../integrity/ledger.ts';
import { PayloadCodec, type PayloadIdentity } from '../integrity/payload.ts';
import { createMonotonicClock } from '../meters/clock.ts';
import { createHistogram, type Histogram, latencyOf, recordMs } from '../meters/latency.ts';
import type { SoakConfig, SoakWindow } from './protocol.ts';

const queue = 'soak';
/** At saturation, enqueuers wait above this backlog, so that throughput is measured and not storage. */
const backlogMax = 20_000;

export class SoakLoad {
  readonly #instance: Instance;
  readonly #config: SoakConfig;
  readonly #clock = createMonotonicClock();
  readonly #codec: PayloadCodec;
  readonly #ledger: Ledger;
  readonly #order = new DeliveryOrder();
  readonly #ended = new AbortController();
  #dequeuing: Promise<unknown>;
  #sequence: number[];
  #latency: Histogram = createHistogram();
  #windowConsumed = 0;
  sent = 0;
  consumed = 0;

  static async start(instance: Instance, config: SoakConfig): Promise<SoakLoad> {
    await instance.createQueue({ name: queue });
    return new SoakLoad(instance, config);
  }

  private constructor(instance: Instance, config: SoakConfig) {
    this.#instance = instance;
    this.#config = config;
    this.#codec = new PayloadCodec({ bytes: config.payloadBytes, seed: config.seed, nonce: config.seed });
    this.#ledger = new Ledger(this.#codec);
    this.#sequence = Array.from({ length: config.enqueuers }, () => 0);
    this.#dequeuing = Promise.all(Array.from({ length: config.dequeuers }, () => this.#dequeue()));
    this.#dequeuing.catch((error: unknown) => {
      throw error; // a failing session ends the process, so that no failure is overlooked
    });
  }

  get backlog(): number {
    return this.#instance.queue(queue).ready;
  }

  /** Runs at full speed; returns messages consumed per second. */
  async runSaturated(ms: number): Promise<number> {
    const until = this.#clock() + ms;
    const from = { at: this.#clock(), consumed: this.consumed };
    await this.#enqueueAll(async (enqueue) => {
      while (this.#clock() < until) {
        if (this.backlog > backlogMax) await pause(1);
        else await enqueue(this.#clock());
      }
    });
    const perSec = ((this.consumed - from.consumed) / (this.#clock() - from.at)) * 1_000;
    await this.waitUntilDrained();
    return perSec;
  }

  /** Runs at a fixed message rate; each enqueuer sends its share of the transactions, evenly spread in time. */
  async runSteady(perSec: number, ms: number): Promise<void> {
    const { enqueuers, operationsPerTransaction } = this.#config;
    const intervalMs = (1_000 * enqueuers * operationsPerTransaction) / perSec;
    const begin = this.#clock();
    await this.#enqueueAll(async (enqueue, enqueuer) => {
      let due = begin + (intervalMs * enqueuer) / enqueuers;
      for (; due < begin + ms; due += intervalMs) {
        const early = due - this.#clock();
        if (early > 1) await pause(early);
        await enqueue(due);
      }
    });
  }

  async #enqueueAll(
    run: (enqueue: (dueMs: number) => Promise<void>, enqueuer: number) => Promise<void>,
  ): Promise<void> {
    const { operationsPerTransaction: operations } = this.#config;
    const loops = this.#sequence.map(async (_, enqueuer) => {
      const session = this.#instance.openSession();
      await run(async (sentAtMs) => {
        const first = this.#sequence[enqueuer]!;
        for (let sequence = first; sequence < first + operations; sequence += 1) {
          session.enqueue(queue, { payload: this.#codec.make({ enqueuer, sequence, sentAtMs }) });
        }
        await session.commit();
        this.#sequence[enqueuer] = first + operations;
        this.#ledger.recordCommitted(enqueuer, first + operations);
        this.sent += operations;
      }, enqueuer);
      await session.close();
    });
    await Promise.all(loops);
  }

  async #dequeue(): Promise<void> {
    const session = this.#instance.openSession();
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const max = this.#config.operationsPerTransaction;
      const messages = await session.dequeue(queue, { max, waitMs: 1_000, signal });
      if (messages.length === 0) continue;
      const now = this.#clock();
      const identities: PayloadIdentity[] = [];
      for (const message of messages) {
        const identity = this.#ledger.recordDelivery(message, this.#order);
        if (identity === null) continue;
        recordMs(this.#latency, now - identity.sentAtMs);
        identities.push(identity);
      }
      await session.commit();
      for (const identity of identities) this.#ledger.recordConsumed(identity);
      this.consumed += messages.length;
      this.#windowConsumed += messages.length;
    }
    await session.close();
  }

  /** The measurements since the last call. */
  takeWindow(atMs: number): SoakWindow {
    const { p50, p99, max } = latencyOf(this.#latency);
    const window = {
      atMs,
      consumed: this.#windowConsumed,
      latencyMs: { p50, p99, max },
      backlog: this.backlog,
    };
    this.#latency.reset();
    this.#windowConsumed = 0;
    return window;
  }

  async waitUntilDrained(): Promise<void> {
    while (this.consumed < this.sent) await pause(5);
  }

  /** Ends the sessions and checks that every committed message was consumed and none is left. */
  async end(): Promise<Integrity> {
    this.#ended.abort();
    await this.#dequeuing;
    return mergeLedgers([this.#ledger.report()]);
  }
}
