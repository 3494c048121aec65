/** What the queues held and moved since the server started, sampled for the dashboard. It does not survive a restart. */
import type { HistoryRange, QueueHistory, QueueInfo, QueueSample } from '@shardlab/contract';
import { limits } from '../limits.ts';

interface Reading {
  atMs: number;
  depth: number;
  enqueued: number;
  consumed: number;
  lagMs: number | null;
}

/** Newest last. A range reads every so often and keeps so many. */
class Readings {
  readonly everyMs: number;
  readonly #kept: number;
  #readings: Reading[] = [];

  constructor({ everyMs, kept }: { everyMs: number; kept: number }) {
    this.everyMs = everyMs;
    this.#kept = kept;
  }

  /**
   * Starts the history again if a counter went down: the queue was dropped and created again, or an instance does not respond.
   */
  add(reading: Reading): void {
    const last = this.#readings.at(-1);
    // The timer may be early by some milliseconds.
    if (last !== undefined && reading.atMs - last.atMs < this.everyMs * 0.9) return;
    if (last !== undefined && (reading.enqueued < last.enqueued || reading.consumed < last.consumed))
      this.#readings = [];
    this.#readings.push(reading);
    // One more than samples, which are differences.
    if (this.#readings.length > this.#kept + 1) this.#readings.shift();
  }

  samples(): QueueSample[] {
    return this.#readings.slice(1).map(({ atMs, depth, enqueued, consumed, lagMs }, index) => {
      const before = this.#readings[index]!;
      const perSec = (count: number) => (count * 1_000) / (atMs - before.atMs);
      const [enqueuePerSec, dequeuePerSec] = [
        perSec(enqueued - before.enqueued),
        perSec(consumed - before.consumed),
      ];
      return { atMs, depth, enqueuePerSec, dequeuePerSec, lagMs };
    });
  }
}

export interface QueueReadings {
  queues(): Promise<readonly QueueInfo[]>;
  /** Age of the oldest ready message, milliseconds; null if it is not known. Asked for queues with ready messages. */
  lagMs(queue: string): Promise<number | null>;
}

export class QueueHistories {
  readonly #read: QueueReadings;
  readonly #now: () => number;
  readonly #byQueue = new Map<string, Record<HistoryRange, Readings>>();
  readonly #timer: NodeJS.Timeout;
  #reading: Promise<void> | undefined;

  constructor(read: QueueReadings, now: () => number) {
    this.#read = read;
    this.#now = now;
    this.#timer = setInterval(() => void this.sample(), limits.historyRanges['10m'].everyMs);
    this.#timer.unref();
  }

  /** Resolves when all queues are read. While a reading is under way, no second one begins. */
  sample(): Promise<void> {
    this.#reading ??= this.#sample()
      .catch(() => {}) // the instance is being moved, or does not respond: this reading is left out
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async #sample(): Promise<void> {
    const queues = (await this.#read.queues()).slice(0, limits.historyQueuesMax);
    const names = new Set(queues.map(({ name }) => name));
    for (const name of this.#byQueue.keys()) if (!names.has(name)) this.#byQueue.delete(name);
    const withReady = queues.filter(({ ready }) => ready > 0).map(({ name }) => name);
    const asked = new Set(withReady.slice(0, limits.historyLagsMax));
    await Promise.all(
      queues.map(async ({ name, ready, held, delayed, enqueued, consumed, fault }) => {
        if (fault !== undefined) return;
        const lagMs = ready === 0 ? 0 : asked.has(name) ? await this.#read.lagMs(name) : null;
        const reading = { atMs: this.#now(), depth: ready + held + delayed, enqueued, consumed, lagMs };
        for (const readings of Object.values(this.#of(name))) readings.add(reading);
      }),
    );
  }

  #of(name: string): Record<HistoryRange, Readings> {
    const known = this.#byQueue.get(name);
    if (known !== undefined) return known;
    const { historyRanges: ranges } = limits;
    const made = {
      '10m': new Readings(ranges['10m']),
      '1h': new Readings(ranges['1h']),
      '24h': new Readings(ranges['24h']),
    };
    this.#byQueue.set(name, made);
    return made;
  }

  /** Without samples for a queue that was not read twice yet. */
  history(queue: string, range: HistoryRange): QueueHistory {
    const readings = this.#byQueue.get(queue)?.[range];
    return { queue, everyMs: limits.historyRanges[range].everyMs, samples: readings?.samples() ?? [] };
  }

  all(range: HistoryRange): QueueHistory[] {
    return [...this.#byQueue.keys()].map((queue) => this.history(queue, range));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }
}
