/** Keeps the history of queues over restarts: a row holds the samples of a queue and a range that one call saved. */
import type { HistoryRange, QueueSample } from '@shardlab/contract';
import { limits } from '../limits.ts';
import type { LabDatabase } from './lab-database.ts';

/** Samples of one queue for one range, oldest first. */
export interface StoredSamples {
  queue: string;
  range: HistoryRange;
  samples: readonly QueueSample[];
}

export class QueueHistoryStore {
  readonly #file: LabDatabase;

  constructor(file: LabDatabase) {
    this.#file = file;
  }

  /** Loads the saved samples row by row, the oldest first. */
  *load(): Generator<StoredSamples> {
    const rows = this.#file.prepare('SELECT queue, range, body FROM queue_sample ORDER BY at_ms').all() as {
      queue: string;
      range: HistoryRange;
      body: string;
    }[];
    for (const { queue, range, body } of rows) yield { queue, range, samples: JSON.parse(body) };
  }

  /**
   * Adds samples, replacing saved ones from the time of the first on, and deletes those of dropped queues and those out of range:
   * too old, or from before the clock was set back. One transaction.
   */
  save(added: readonly StoredSamples[], dropped: Iterable<string>, nowMs: number): void {
    const prune = this.#file.prepare(
      'DELETE FROM queue_sample WHERE range = ? AND (at_ms <= ? OR at_ms > ?)',
    );
    const drop = this.#file.prepare('DELETE FROM queue_sample WHERE queue = ?');
    const replace = this.#file.prepare(
      'DELETE FROM queue_sample WHERE range = ? AND queue = ? AND at_ms >= ?',
    );
    const add = this.#file.prepare(
      'INSERT INTO queue_sample (range, at_ms, queue, body) VALUES (?, ?, ?, ?)',
    );
    this.#file
      .transaction(() => {
        for (const queue of dropped) drop.run(queue);
        for (const [range, { everyMs, kept }] of Object.entries(limits.historyRanges))
          prune.run(range, nowMs - everyMs * kept, nowMs);
        for (const { queue, range, samples } of added) {
          replace.run(range, queue, samples[0]!.atMs);
          add.run(range, samples.at(-1)!.atMs, queue, JSON.stringify(samples));
        }
      })
      .immediate();
  }
}
