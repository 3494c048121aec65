/**
 * The conversions of the catalog: which queue is on its way from unsharded to sharded, and how far it got. The row of one
 * that is done stays with its queue, so that who asks again, or was killed before it heard, learns how it ended.
 */
import {
  afterCommand,
  type ConversionCommand,
  type ConversionStage,
  type ConversionStep,
  conversionSteps,
} from '../core/conversion.ts';
import { QueueError } from '../core/errors.ts';
import type { NewQueueRow } from './catalog.ts';
import type { SqliteFile } from './sqlite.ts';

export const conversionTables = `
  CREATE TABLE conversion (
    queue TEXT PRIMARY KEY,           -- the name that both queues have, one after the other
    queue_id INTEGER NOT NULL,        -- the unsharded one
    stage TEXT NOT NULL,              -- the step that is due, or done
    settings TEXT NOT NULL,           -- JSON: what the sharded one is made of
    cache_bytes_max INTEGER,          -- NULL: the message cache stays as it is
    enqueue_enabled INTEGER NOT NULL, -- as the unsharded one was before: where a cancelled conversion goes back to
    dequeue_enabled INTEGER NOT NULL,
    started_at_ms INTEGER NOT NULL,
    passed TEXT NOT NULL              -- JSON: the steps done, each with when
  ) STRICT;
`;

export interface NewConversion {
  settings: NewQueueRow;
  cacheBytesMax: number | null;
  nowMs: number;
}

export interface ConversionRow {
  queue: string;
  queueId: number;
  stage: ConversionStage;
  settings: NewQueueRow;
  cacheBytesMax: number | null;
  startedAtMs: number;
  passed: { step: ConversionStep; atMs: number }[];
}

interface StoredConversion extends Omit<ConversionRow, 'settings' | 'passed'> {
  settings: string;
  passed: string;
}

/** Its methods but `find` are called in a write transaction of the catalog. */
export class ConversionTable {
  readonly #file: SqliteFile;

  constructor(catalog: SqliteFile) {
    this.#file = catalog;
  }

  find(queue: string): ConversionRow | undefined {
    const row = this.#file
      .prepare(
        `SELECT queue, queue_id AS queueId, stage, settings, cache_bytes_max AS cacheBytesMax,
           started_at_ms AS startedAtMs, passed FROM conversion WHERE queue = ?`,
      )
      .get(queue) as StoredConversion | undefined;
    return row && { ...row, settings: JSON.parse(row.settings), passed: JSON.parse(row.passed) };
  }

  /** Throws `QUEUE_CONVERTING`: until the conversion ends, it alone starts, stops and replaces its queue. */
  assertNone(queue: string): void {
    const stage = this.find(queue)?.stage;
    if (stage === undefined || stage === 'done') return;
    throw new QueueError('QUEUE_CONVERTING', { details: { queue, step: stage } });
  }

  /** Throws `QUEUE_NOT_FOUND`, `QUEUE_NOT_CONVERTIBLE`. */
  begin({ settings, cacheBytesMax, nowMs }: NewConversion): void {
    const queue = settings.name;
    const old = this.#file
      .prepare(
        `SELECT queue_id AS queueId, kind, enqueue_enabled AS enqueue, dequeue_enabled AS dequeue
         FROM queue WHERE name = ?`,
      )
      .get(queue) as { queueId: number; kind: string; enqueue: number; dequeue: number } | undefined;
    if (old === undefined) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue } });
    if (old.kind !== 'unsharded') throw new QueueError('QUEUE_NOT_CONVERTIBLE', { details: { queue } });
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

  /** Moves on, or back: the step that was due is noted as done. Throws `CONVERSION_PAST_CANCEL`. */
  move(row: ConversionRow, command: ConversionCommand, nowMs: number): void {
    const { queue, stage } = row;
    const next = afterCommand(stage, command);
    if (next === 'cancelled') {
      this.#cancel(row);
      return;
    }
    if (next === undefined) throw new QueueError('CONVERSION_PAST_CANCEL', { details: { queue, stage } });
    const nextIndex = conversionSteps.indexOf(next as ConversionStep);
    const passed =
      command === 'pass'
        ? [...row.passed, { step: stage as ConversionStep, atMs: nowMs }]
        : row.passed.filter(({ step }) => conversionSteps.indexOf(step) < nextIndex);
    this.#file
      .prepare('UPDATE conversion SET stage = ?, passed = ? WHERE queue = ?')
      .run(next, JSON.stringify(passed), queue);
  }

  /** The unsharded queue is as it was before. */
  #cancel({ queue }: ConversionRow): void {
    this.#file
      .prepare(
        `UPDATE queue SET enqueue_enabled = conversion.enqueue_enabled, dequeue_enabled = conversion.dequeue_enabled
         FROM conversion WHERE conversion.queue = queue.name AND queue.name = ?`,
      )
      .run(queue);
    this.forget(queue);
  }

  /** Its queue goes. */
  forget(queue: string): void {
    this.#file.prepare('DELETE FROM conversion WHERE queue = ?').run(queue);
  }
}
