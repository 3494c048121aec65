/**
 * Conversions of unsharded queues to sharded ones, and the step that each has reached. The row of a finished conversion
 * stays as long as its queue, so that a caller who was killed before the answer can ask again.
 */

import { type ConversionStage, type ConversionStep, conversionSteps } from '../../api/conversion.ts';
import { QueueError } from '../../api/errors.ts';
import { type ConversionCommand, nextConversionStage } from '../../model/conversion.ts';
import type { QueueId } from '../../model/ids.ts';
import type { NewQueueRow } from '../../model/queue-row.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';

export const conversionTableSql = `
  CREATE TABLE conversion (
    queue TEXT PRIMARY KEY,           -- the name of both queues, one after the other
    queue_id INTEGER NOT NULL,        -- of the unsharded queue
    stage TEXT NOT NULL,              -- the next step, or 'done'
    settings TEXT NOT NULL,           -- JSON: settings of the sharded queue
    cache_bytes_max INTEGER,          -- NULL: the message cache stays as it is
    enqueue_enabled INTEGER NOT NULL, -- of the unsharded queue before: a cancelled conversion restores them
    dequeue_enabled INTEGER NOT NULL,
    started_at_ms INTEGER NOT NULL,
    completed_steps TEXT NOT NULL     -- JSON: each step that is done, and when
  ) STRICT;
`;

export interface NewConversion {
  settings: NewQueueRow;
  cacheBytesMax: number | null;
  nowMs: number;
}

export interface ConversionRow {
  queue: string;
  queueId: QueueId;
  stage: ConversionStage;
  settings: NewQueueRow;
  cacheBytesMax: number | null;
  startedAtMs: number;
  completedSteps: { step: ConversionStep; atMs: number }[];
}

interface StoredConversion extends Omit<ConversionRow, 'settings' | 'completedSteps'> {
  settings: string;
  completedSteps: string;
}

/** All methods but `find` are called in a write transaction of the catalog. */
export class ConversionTable {
  readonly #file: SqliteFile;

  constructor(catalog: SqliteFile) {
    this.#file = catalog;
  }

  find(queue: string): ConversionRow | undefined {
    const row = this.#file
      .prepare(
        `SELECT queue, queue_id AS queueId, stage, settings, cache_bytes_max AS cacheBytesMax,
           started_at_ms AS startedAtMs, completed_steps AS completedSteps FROM conversion WHERE queue = ?`,
      )
      .get(queue) as StoredConversion | undefined;
    return (
      row && { ...row, settings: JSON.parse(row.settings), completedSteps: JSON.parse(row.completedSteps) }
    );
  }

  /** Throws `QUEUE_CONVERTING`: until a conversion ends, only it may start, stop or replace the queue. */
  assertNoneInProgress(queue: string): void {
    const stage = this.find(queue)?.stage;
    if (stage === undefined || stage === 'done') return;
    throw new QueueError('QUEUE_CONVERTING', { details: { queue, step: stage } });
  }

  /** Throws `QUEUE_NOT_FOUND`, `QUEUE_NOT_CONVERTIBLE`. */
  begin({ settings, cacheBytesMax, nowMs }: NewConversion): void {
    const queue = settings.name;
    const old = this.#file
      .prepare(
        `SELECT queue_id AS queueId, kind, type, enqueue_enabled AS enqueue, dequeue_enabled AS dequeue
         FROM queue WHERE name = ?`,
      )
      .get(queue) as
      | { queueId: QueueId; kind: string; type: string; enqueue: number; dequeue: number }
      | undefined;
    if (old === undefined) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue } });
    if (old.kind !== 'unsharded' || old.type === 'topic')
      throw new QueueError('QUEUE_NOT_CONVERTIBLE', { details: { queue } });
    this.#file
      .prepare('INSERT INTO conversion VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
      .run(
        queue,
        old.queueId,
        conversionSteps[0],
        JSON.stringify(settings),
        cacheBytesMax,
        old.enqueue,
        old.dequeue,
        nowMs,
        '[]',
      );
  }

  /** Moves to the next stage, or back, and records completed steps. Throws `CONVERSION_PAST_CANCEL`. */
  applyCommand(row: ConversionRow, command: ConversionCommand, nowMs: number): void {
    const { queue, stage } = row;
    const next = nextConversionStage(stage, command);
    if (next === 'cancelled') {
      this.#cancel(row);
      return;
    }
    if (next === undefined) throw new QueueError('CONVERSION_PAST_CANCEL', { details: { queue, stage } });
    const nextIndex = conversionSteps.indexOf(next as ConversionStep);
    const completedSteps =
      command === 'pass'
        ? [...row.completedSteps, { step: stage as ConversionStep, atMs: nowMs }]
        : row.completedSteps.filter(({ step }) => conversionSteps.indexOf(step) < nextIndex);
    this.#file
      .prepare('UPDATE conversion SET stage = ?, completed_steps = ? WHERE queue = ?')
      .run(next, JSON.stringify(completedSteps), queue);
  }

  /** Restores the unsharded queue. */
  #cancel({ queue }: ConversionRow): void {
    this.#file
      .prepare(
        `UPDATE queue SET enqueue_enabled = conversion.enqueue_enabled, dequeue_enabled = conversion.dequeue_enabled
         FROM conversion WHERE conversion.queue = queue.name AND queue.name = ?`,
      )
      .run(queue);
    this.remove(queue);
  }

  /** The queue is dropped. */
  remove(queue: string): void {
    this.#file.prepare('DELETE FROM conversion WHERE queue = ?').run(queue);
  }
}
