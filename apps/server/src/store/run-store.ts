/**
 * The history of runs. Rows are written while a run is active, so a killed server loses at most the current point.
 * `run_number` gives the order; the API knows runs by their ids.
 */
import { type Point, pointKey, type Run, type RunLabels, type RunList, type Tick } from '@shardlab/contract';
import { LabError, type StoredVerdict, verdictsOf } from '@shardlab/lab';
import { ServerError, toBody } from '../errors.ts';
import type { LabDatabase } from './lab-database.ts';
import { listRuns, type RunListOptions } from './run-list.ts';
import { type RunRow, toRow, toRun } from './run-rows.ts';

export interface RunStoreOptions {
  /** Number of runs kept; adding one more deletes the oldest that has ended. */
  runsKeptMax: number;
  /** Epoch milliseconds. */
  now: () => number;
}

const runNumberQuery = '(SELECT run_number FROM run WHERE id = ?)';

export class RunStore {
  readonly #file: LabDatabase;
  readonly #options: RunStoreOptions;

  constructor(file: LabDatabase, options: RunStoreOptions) {
    this.#file = file;
    this.#options = options;
  }

  /**
   * Marks the run that a killed server left under way as cancelled, with the reason and the time of its last update.
   * Returns how many there were.
   */
  endInterrupted(): number {
    const rows = this.#file.prepare("SELECT * FROM run WHERE status = 'running'").all() as RunRow[];
    for (const row of rows) {
      const run = toRun(row, []);
      const progress = { ...run.progress, etaMs: null };
      delete (progress as { current?: string }).current;
      const error = toBody(interrupted());
      this.#update(
        { ...run, status: 'cancelled', endedAtMs: row.updated_at_ms, progress, error },
        row.updated_at_ms,
      );
    }
    return rows.length;
  }

  /** Runs that an earlier server had not begun, in the order of their requests; without points. */
  queued(): Run[] {
    const rows = this.#file
      .prepare("SELECT * FROM run WHERE status = 'queued' ORDER BY run_number")
      .all() as RunRow[];
    return rows.map((row) => toRun(row, []));
  }

  add(run: Run): void {
    const row = toRow(run, this.#options.now());
    const columns = Object.keys(row);
    this.#file
      .prepare(
        `INSERT INTO run (${columns.join(', ')}) VALUES (${columns.map((name) => `@${name}`).join(', ')})`,
      )
      .run(row);
    this.#file
      .prepare(
        `DELETE FROM run WHERE status NOT IN ('queued', 'running')
           AND run_number <= (SELECT run_number FROM run ORDER BY run_number DESC LIMIT 1 OFFSET ?)`,
      )
      .run(this.#options.runsKeptMax);
  }

  /** Writes everything except points and ticks. */
  update(run: Run): void {
    this.#update(run, this.#options.now());
  }

  #update(run: Run, updatedAtMs: number): void {
    const { id, scenario, scenario_id, scenario_title, scale, created_at_ms, ...changing } = toRow(
      run,
      updatedAtMs,
    );
    const names = Object.keys(changing);
    this.#file
      .prepare(`UPDATE run SET ${names.map((name) => `${name} = @${name}`).join(', ')} WHERE id = @id`)
      .run({ ...changing, id });
  }

  /** Inserts a point at its position in the run, or replaces it with a newer version. */
  savePoint(runId: string, point: Point, position: number): void {
    this.#file
      .prepare(
        `INSERT INTO point (run_number, key, position, body) VALUES (${runNumberQuery}, ?, ?, ?)
         ON CONFLICT DO UPDATE SET body = excluded.body`,
      )
      .run(runId, pointKey(point), position, JSON.stringify(point));
  }

  saveTick(runId: string, tickNumber: number, body: string): void {
    this.#file
      .prepare(`INSERT INTO tick (run_number, tick_number, body) VALUES (${runNumberQuery}, ?, ?)`)
      .run(runId, tickNumber, body);
  }

  /** Keeps the ticks whose number is a multiple of `stride`. */
  thinTicks(runId: string, stride: number): void {
    this.#file
      .prepare(`DELETE FROM tick WHERE run_number = ${runNumberQuery} AND tick_number % ? <> 0`)
      .run(runId, stride);
  }

  /** A run without its points. Throws `RUN_NOT_FOUND`. */
  head(id: string): Run {
    const row = this.#file.prepare('SELECT * FROM run WHERE id = ?').get(id) as RunRow | undefined;
    if (row === undefined) throw new LabError('RUN_NOT_FOUND', { details: { id: id.slice(0, 64) } });
    return toRun(row, []);
  }

  /** A run as JSON, in which the points are as they are stored. Throws `RUN_NOT_FOUND`. */
  json(id: string): string {
    const { points: _points, ...head } = this.head(id);
    const bodies = this.#file
      .prepare(`SELECT body FROM point WHERE run_number = ${runNumberQuery} ORDER BY position`)
      .pluck()
      .all(id) as string[];
    return `${JSON.stringify(head).slice(0, -1)},"points":[${bodies.join(',')}]}`;
  }

  /** The points of a run in order, each read when it is requested. */
  *points(id: string): Generator<Point> {
    const keys = this.#file
      .prepare(`SELECT key FROM point WHERE run_number = ${runNumberQuery} ORDER BY position`)
      .pluck()
      .all(id) as string[];
    const body = this.#file
      .prepare(`SELECT body FROM point WHERE run_number = ${runNumberQuery} AND key = ?`)
      .pluck();
    for (const key of keys) {
      const json = body.get(id, key) as string | undefined;
      if (json !== undefined) yield JSON.parse(json) as Point; // else the run has been deleted
    }
  }

  /** The ticks of a run with their numbers, in order. */
  ticks(id: string): { number: number; tick: Tick; bytes: number }[] {
    const rows = this.#file
      .prepare(`SELECT tick_number, body FROM tick WHERE run_number = ${runNumberQuery} ORDER BY tick_number`)
      .all(id) as { tick_number: number; body: string }[];
    return rows.map(({ tick_number: number, body }) => ({
      number,
      tick: JSON.parse(body) as Tick,
      bytes: body.length,
    }));
  }

  /** The ticks of a run as JSON. */
  ticksJson(id: string): string {
    const bodies = this.#file
      .prepare(`SELECT body FROM tick WHERE run_number = ${runNumberQuery} ORDER BY tick_number`)
      .pluck()
      .all(id) as string[];
    return `[${bodies.join(',')}]`;
  }

  list(options: RunListOptions): RunList {
    return listRuns(this.#file, options);
  }

  /** The ids of runs of this machine that finished with verdicts, for the claim history. */
  judgedRuns(): string[] {
    return this.#file
      .prepare(`SELECT id FROM run WHERE status = 'done' AND claims <> '[]' AND imported = 0`)
      .pluck()
      .all() as string[];
  }

  /** The ids of finished runs of this machine, newest first. */
  finishedHere(limit: number): string[] {
    return this.#file
      .prepare(`SELECT id FROM run WHERE status = 'done' AND imported = 0 ORDER BY run_number DESC LIMIT ?`)
      .pluck()
      .all(limit) as string[];
  }

  /** The verdicts of a finished run; none if it has been deleted. */
  verdictsOf(runId: string): StoredVerdict[] {
    const rows = this.#file
      .prepare(
        'SELECT id, scenario_id, scale, ended_at_ms, progress, claims, environment FROM run WHERE id = ?',
      )
      .all(runId) as Pick<
      RunRow,
      'id' | 'scenario_id' | 'scale' | 'ended_at_ms' | 'progress' | 'claims' | 'environment'
    >[];
    return rows.flatMap((row) =>
      verdictsOf({
        id: row.id,
        scenarioId: row.scenario_id,
        scale: row.scale as Run['scale'],
        endedAtMs: row.ended_at_ms,
        progress: JSON.parse(row.progress),
        claims: JSON.parse(row.claims),
        environment: row.environment === null ? null : JSON.parse(row.environment),
      }),
    );
  }

  has(id: string): boolean {
    return this.#file.prepare('SELECT 1 FROM run WHERE id = ?').get(id) !== undefined;
  }

  countByStatus(): { status: Run['status']; count: number }[] {
    return this.#file.prepare('SELECT status, count(*) AS count FROM run GROUP BY status').all() as {
      status: Run['status'];
      count: number;
    }[];
  }

  /** A new baseline takes the place of the one that its scenario had. Returns whether the run existed. */
  label(id: string, { name, note, baseline }: RunLabels): boolean {
    const file = this.#file;
    return (
      file
        .transaction(() => {
          if (baseline) {
            file
              .prepare(
                'UPDATE run SET baseline = 0 WHERE scenario_id = (SELECT scenario_id FROM run WHERE id = ?)',
              )
              .run(id);
          }
          return file
            .prepare('UPDATE run SET name = ?, note = ?, baseline = ? WHERE id = ?')
            .run(name, note, Number(baseline), id);
        })
        .immediate().changes === 1
    );
  }

  /** Adds a run that was measured elsewhere, with its points and ticks. */
  import(run: Run, ticks: readonly Tick[]): void {
    const file = this.#file;
    file
      .transaction(() => {
        this.add(run);
        file.prepare('UPDATE run SET imported = 1 WHERE id = ?').run(run.id);
        for (const [index, point] of run.points.entries()) this.savePoint(run.id, point, index + 1);
        for (const [index, tick] of ticks.entries()) this.saveTick(run.id, index, JSON.stringify(tick));
        if (run.labels !== undefined) this.label(run.id, { ...run.labels, baseline: false });
      })
      .immediate();
  }

  /** Returns whether the run existed. */
  remove(id: string): boolean {
    return this.#file.prepare('DELETE FROM run WHERE id = ?').run(id).changes === 1;
  }
}

/** The reason for cancelling the run under way when the server ends. */
export function interrupted(): ServerError {
  return new ServerError('RUN_INTERRUPTED', {
    message: 'The server ended during this run; the points measured until then are kept',
  });
}
