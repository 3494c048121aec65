/**
 * A counter for Prometheus whose readings come from processes that end. Its sum must not fall when one of them is gone or counts
 * anew, or Prometheus would take the return of the old value for new events: what was read last is kept.
 */
import type { Counter } from 'prom-client';

type Labels = Record<string, string | number>;

interface Series {
  labels: Labels;
  /** By the source of a reading. */
  parts: Map<string, { before: number; last: number }>;
}

export interface KeptCounterOptions {
  /**
   * What a reading lower than the last one means. `reopened`: its source counts from 0 since it was opened anew, so both count.
   * `stored`: the count is stored with the messages, and the end of it was lost with them, or it is of a new queue of that name:
   * the higher one stays until it is passed.
   */
  since: 'reopened' | 'stored';
}

export class KeptCounter {
  readonly #counter: Counter;
  readonly #since: KeptCounterOptions['since'];
  readonly #series = new Map<string, Series>();

  constructor(counter: Counter, { since }: KeptCounterOptions) {
    this.#counter = counter;
    this.#since = since;
  }

  /** The readings of all `part`s of a series are summed. */
  read(labels: Labels, value: number, part = ''): void {
    const key = JSON.stringify(labels);
    const series = this.#series.get(key) ?? { labels, parts: new Map() };
    this.#series.set(key, series);
    const { before, last } = series.parts.get(part) ?? { before: 0, last: 0 };
    if (value >= last) series.parts.set(part, { before, last: value });
    else if (this.#since === 'reopened') series.parts.set(part, { before: before + last, last: value });
  }

  /** Forgets the series of what is gone for good: a dropped queue, a removed instance. */
  keep(isThere: (labels: Labels) => boolean): void {
    for (const [key, { labels }] of this.#series) if (!isThere(labels)) this.#series.delete(key);
  }

  /** Sets the values that the next scrape shows. */
  write(): void {
    this.#counter.reset();
    for (const { labels, parts } of this.#series.values())
      for (const { before, last } of parts.values()) this.#counter.inc(labels, before + last);
  }
}
