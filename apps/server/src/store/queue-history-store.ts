/** Keeps the history of queues over restarts: a row holds the samples of a queue and a range that one call saved. */
import { HistoryRange, QueueSample } from '@shardlab/contract';
import Type from 'typebox';
import { limits } from '../limits.ts';
import type { LabDatabase } from './lab-database.ts';
import { checkStored, readStored } from './stored-json.ts';

const Samples = Type.Array(QueueSample, { minItems: 1 });

/** Samples of one queue for one range, oldest first. */
export interface StoredSamples {
  queue: string;
  range: HistoryRange;
  samples: readonly QueueSample[];
}

export class QueueHistoryStore {
  readonly #file: LabDatabase;
  readonly #onDamage: (sentence: string) => void;

  /** `onDamage` is told of rows that cannot be read. They are pruned as the others are, when they are too old. */
  constructor(file: LabDatabase, onDamage: (sentence: string) => void = () => undefined) {
    this.#file = file;
    this.#onDamage = onDamage;
  }

  /** Loads the saved samples row by row, the oldest first. Leaves out those that cannot be read. */
  *load(): Generator<StoredSamples> {
    const rows = this.#file.prepare('SELECT queue, range, body FROM queue_sample ORDER BY at_ms').all() as {
      queue: string;
      range: string;
      body: string;
    }[];
    for (const { queue, range, body } of rows) {
      const ofRange = checkStored<HistoryRange>(range, HistoryRange);
      const samples = readStored<QueueSample[]>(body, Samples);
      const damage = ofRange.damage ?? samples.damage;
      if (damage !== undefined) this.#onDamage(`A saved part of the history of the queue ${queue} ${damage}`);
      else yield { queue, range: ofRange.value!, samples: samples.value! };
    }
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
