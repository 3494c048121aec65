/** Depths and rates of the queues, sampled for the dashboard while the server runs, and saved about every ten seconds. */
import type { HistoryRange, QueueHistory, QueueInfo } from '@shardlab/contract';
import { limits } from '../limits.ts';
import type { QueueHistoryStore } from '../store/queue-history-store.ts';
import { type Reading, SampleSeries } from './sample-series.ts';

type Statistics = Pick<Reading, 'lagMs' | 'deliveryLatency'>;

export interface QueueHistoriesOptions {
  queues(): Promise<readonly QueueInfo[]>;
  /**
   * The age of the oldest ready message, and the latency of deliveries since some moment. Null if the store has no statistics.
   * Asked for queues that are new here, have ready messages, or delivered some since the reading before.
   */
  statistics(queue: string): Promise<Statistics | null>;
  /** Epoch milliseconds. */
  now(): number;
  store: QueueHistoryStore;
  /** Samples could not be loaded, or not be saved; these are saved the next time. */
  onFault(error: unknown): void;
}

interface KnownQueue {
  series: Record<HistoryRange, SampleSeries>;
  /** Values at the last reading. */
  last?: Pick<QueueInfo, 'held' | 'consumed'> & Pick<Reading, 'deliveryLatency'>;
}

const unknown: Statistics = { lagMs: null, deliveryLatency: null };
const ranges: readonly HistoryRange[] = ['10m', '1h', '24h'];

export class QueueHistories {
  readonly #options: QueueHistoriesOptions;
  readonly #byQueue = new Map<string, KnownQueue>();
  /** Queues whose saved samples must be deleted. */
  readonly #dropped = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  #reading: Promise<void> | undefined;
  #savedAtMs = Number.NEGATIVE_INFINITY;
  /** When the last reading ended: an earlier time means that the clock was set back. */
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** Saved samples are of dropped queues, or from a time that has not come yet: a killed server must not find them again. */
  #hasSavedInvalid = false;

  /** Loads what was saved. */
  constructor(options: QueueHistoriesOptions) {
    this.#options = options;
    try {
      for (const { queue, range, samples } of options.store.load())
        this.#of(queue).series[range].restore(samples);
    } catch (error) {
      options.onFault(error); // the queues are served without what was saved of their history
    }
    this.#timer = setInterval(() => void this.sample(), limits.historyRanges['10m'].everyMs);
    this.#timer.unref();
  }

  /** Resolves when all queues are read. While a reading is under way, no second one begins. */
  sample(): Promise<void> {
    this.#reading ??= this.#sample()
      .catch(() => {}) // the instance is being moved, or does not respond: this reading is left out
      .then(() => this.#saveIfDue())
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async #sample(): Promise<void> {
    const queues = (await this.#options.queues()).slice(0, limits.historyQueuesMax);
    this.#forgetOthers(new Set(queues.map(({ name }) => name)));
    const read = queues.filter(({ fault }) => fault === undefined);
    const active = read.filter((queue) => this.#isActive(queue));
    const asked = active.slice(0, limits.historyStatisticsMax);
    await Promise.all([
      ...asked.map(async (queue) => this.#add(queue, await this.#statisticsOf(queue.name))),
      ...active.slice(asked.length).map((queue) => this.#add(queue, unknown)),
      ...read.filter((queue) => !active.includes(queue)).map((queue) => this.#add(queue, undefined)),
    ]);
  }

  /** `statistics` are undefined if they are as before, without ready messages. */
  #add(
    { name, ready, held, delayed, enqueued, consumed }: QueueInfo,
    statistics: Statistics | undefined,
  ): void {
    const known = this.#of(name);
    const deliveryLatency = (statistics ?? known.last)?.deliveryLatency ?? null;
    const reading = {
      atMs: this.#options.now(),
      depth: ready + held + delayed,
      enqueued,
      consumed,
      lagMs: ready === 0 ? 0 : (statistics?.lagMs ?? null),
      deliveryLatency,
    };
    known.last = { held, consumed, deliveryLatency };
    for (const range of ranges) known.series[range].add(reading);
  }

  #forgetOthers(names: ReadonlySet<string>): void {
    for (const name of this.#byQueue.keys()) {
      if (names.has(name)) continue;
      this.#byQueue.delete(name);
      this.#dropped.add(name);
      this.#markSavedInvalid();
    }
  }

  #isActive({ name, ready, held, consumed }: QueueInfo): boolean {
    const last = this.#byQueue.get(name)?.last;
    return last === undefined || ready > 0 || held !== last.held || consumed !== last.consumed;
  }

  async #statisticsOf(name: string): Promise<Statistics> {
    // A queue that has just been dropped must not spoil the reading of the others.
    return (await this.#options.statistics(name).catch(() => null)) ?? unknown;
  }

  #of(name: string): KnownQueue {
    const known = this.#byQueue.get(name);
    if (known !== undefined) return known;
    const { historyRanges } = limits;
    const series = {
      '10m': new SampleSeries(historyRanges['10m']),
      '1h': new SampleSeries(historyRanges['1h']),
      '24h': new SampleSeries(historyRanges['24h']),
    };
    const made = { series };
    this.#byQueue.set(name, made);
    return made;
  }

  #markSavedInvalid(): void {
    this.#hasSavedInvalid = true;
    this.#savedAtMs = Number.NEGATIVE_INFINITY; // due now; if that save fails, again after the usual time
  }

  #saveIfDue(): void {
    const nowMs = this.#options.now();
    if (nowMs < this.#readAtMs) this.#markSavedInvalid();
    this.#readAtMs = nowMs;
    if (Math.abs(nowMs - this.#savedAtMs) >= limits.historySaveMs) this.#save();
  }

  /** A few rows in one transaction of the server's own file: well under a millisecond with a dozen queues. */
  #save(): void {
    const series = [...this.#byQueue].flatMap(([queue, known]) =>
      ranges.map((range) => ({ queue, range, of: known.series[range] })),
    );
    const added = series
      .map(({ queue, range, of }) => ({ queue, range, samples: of.unsaved() }))
      .filter(({ samples }) => samples.length > 0);
    if (added.length === 0 && !this.#hasSavedInvalid) return;
    this.#savedAtMs = this.#options.now();
    try {
      this.#options.store.save(added, this.#dropped, this.#savedAtMs);
    } catch (error) {
      this.#options.onFault(error);
      return;
    }
    this.#dropped.clear();
    this.#hasSavedInvalid = false;
    for (const { of } of series) of.markSaved();
  }

  /** Without samples for a queue that was not read twice yet. */
  history(queue: string, range: HistoryRange): QueueHistory {
    const series = this.#byQueue.get(queue)?.series[range];
    const samples = [...(series?.samples(this.#options.now()) ?? [])];
    return { queue, everyMs: limits.historyRanges[range].everyMs, samples };
  }

  all(range: HistoryRange): QueueHistory[] {
    return [...this.#byQueue.keys()].map((queue) => this.history(queue, range));
  }

  /** Saves what is not saved yet. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
    this.#save();
  }
}
