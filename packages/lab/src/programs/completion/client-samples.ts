/** What a client process does over time: samples for the ticks of a trial. */
import type { InstanceSample, Tick } from '@shardlab/contract';
import type { WaitLog, WaitStats } from '@shardlab/engine';
import { waitMsByClass, waitsBetween } from '../../meters/wait-totals.ts';

const sampleMs = 250;

export interface Sampled {
  phase: Tick['phase'];
  sample: InstanceSample;
}

interface Reading {
  atMs: number;
  enqueued: number;
  consumed: number;
  cpuUs: number;
  waits: WaitStats[];
}

export class ClientSamples {
  readonly #waits: WaitLog;
  readonly #counts: () => Pick<Reading, 'enqueued' | 'consumed'>;
  readonly #emit: (sampled: Sampled) => void;
  #last: Reading;
  #timer: NodeJS.Timeout | undefined;
  #phase: Tick['phase'] = 'warmup';

  /** `counts`: messages since the start. */
  constructor(options: {
    waits: WaitLog;
    counts: () => Pick<Reading, 'enqueued' | 'consumed'>;
    emit: (sampled: Sampled) => void;
  }) {
    this.#waits = options.waits;
    this.#counts = options.counts;
    this.#emit = options.emit;
    this.#last = this.#read();
  }

  /** Emits a sample four times a second, and the last one at the end. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#last = this.#read();
    this.#timer = setInterval(() => this.#emitSample(), sampleMs);
    try {
      return await work();
    } finally {
      clearInterval(this.#timer);
      this.#emitSample();
    }
  }

  /** No sample covers time before and after. */
  beginMeasure(): void {
    this.#emitSample();
    this.#phase = 'measure';
  }

  #emitSample(): void {
    const [last, now] = [this.#last, this.#read()];
    this.#last = now;
    const spanMs = Math.max(now.atMs - last.atMs, 1);
    const perSec = (count: 'enqueued' | 'consumed') =>
      Math.round(((now[count] - last[count]) * 1_000) / spanMs);
    // What is delivered twice counts twice.
    const backlog = Math.max(0, now.enqueued - now.consumed);
    const sample: InstanceSample = {
      instance: 1,
      spanMs: Number(spanMs.toFixed(1)),
      enqueuePerSec: perSec('enqueued'),
      dequeuePerSec: perSec('consumed'),
      cpu: Number(((now.cpuUs - last.cpuUs) / 1_000 / spanMs).toFixed(3)),
      latencyMs: { p50: 0, p99: 0 },
      waitMsByClass: waitMsByClass(waitsBetween(last.waits, now.waits)),
      shards: [{ shard: 1, backlog, partitions: [] }],
    };
    this.#emit({ phase: this.#phase, sample });
  }

  #read(): Reading {
    const { user, system } = process.cpuUsage();
    const waits = this.#waits.snapshot();
    return { atMs: performance.now(), ...this.#counts(), cpuUs: user + system, waits };
  }
}
