/**
 * The history of runs. Rows are written while a run is active, so a killed server loses at most the current point.
 * `run_number` gives the order; the API knows runs by their ids.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Point, pointKey, type Run, type RunLabels, type RunList, type Tick } from '@shardlab/contract';
import { LabError, type StoredVerdict, verdictsOf } from '@shardlab/lab';
import { ServerError, toBody } from '../errors.ts';
import type { LabDatabase } from './lab-database.ts';
import { listRuns, type RunListOptions } from './run-list.ts';
import { storedPoints, storedPointTexts, storedTicks } from './run-parts.ts';
import { type RunRow, readRun, toRow } from './run-rows.ts';

export interface RunStoreOptions {
  /** Number of runs kept; adding one more deletes the oldest that has ended. */
  runsKeptMax: number;
  /** Epoch milliseconds. */
  now: () => number;
  /** What answers to `GET /api/runs` say of the file: that it took the place of one that could not be read. */
  notices?: readonly string[];
  /** Told once of each row that cannot be read, in a sentence; it is left out of all answers that have others. */
  onDamage?: (sentence: string) => void;
}

/** Points and ticks that are read in one turn of the event loop: about 2 ms. A server shares its thread with its queues. */
const pointsPerTurn = 4;
const ticksPerTurn = 50;

/** Damaged rows that are remembered, so that a list that is asked for again and again does not fill the log. */
const toldMax = 10_000;

/** A run that was read from a file. Points and ticks are JSON, as they are stored. */
export interface ReadRun {
  /** Without its points. */
  head: Run;
  /** In their order; `key` is `pointKey`. */
  points: { key: string; json: string }[];
  /** As many as are kept of a run, in the order of their times. */
  ticks: string[];
}

/** A tick with its number. */
export interface KeptTick {
  number: number;
  json: string;
}

const runNumberQuery = '(SELECT run_number FROM run WHERE id = ?)';

export class RunStore {
  readonly #file: LabDatabase;
  readonly #options: RunStoreOptions;
  /** Sentences that `onDamage` was told. */
  readonly #told = new Set<string>();

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
      const run = this.#readable(row);
      if (run === undefined) {
        this.#end(row);
        continue;
      }
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

  /**
   * Runs that an earlier server had not begun, in the order of their requests; without points. One that cannot be read will not be
   * begun: it has ended then.
   */
  queued(): Run[] {
    const rows = this.#file
      .prepare("SELECT * FROM run WHERE status = 'queued' ORDER BY run_number")
      .all() as RunRow[];
    return rows.flatMap((row) => {
      const run = this.#readable(row);
      if (run === undefined) this.#end(row);
      return run ?? [];
    });
  }

  /** A damaged row stays as it is but for its status, by which it is no longer waited for and can be deleted. */
  #end({ run_number, updated_at_ms }: RunRow): void {
    this.#file
      .prepare("UPDATE run SET status = 'cancelled', ended_at_ms = ? WHERE run_number = ?")
      .run(updated_at_ms, run_number);
  }

  #readable(row: RunRow): Run | undefined {
    const { value, damage } = readRun(row);
    if (damage !== undefined) this.#tell(`The run ${row.id} cannot be read: ${damage}`);
    return value;
  }

  #tell(sentence: string): void {
    if (this.#told.has(sentence)) return;
    if (this.#told.size < toldMax) this.#told.add(sentence);
    this.#options.onDamage?.(sentence);
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
    this.#savePoint(runId, { key: pointKey(point), json: JSON.stringify(point) }, position);
  }

  #savePoint(runId: string, { key, json }: ReadRun['points'][number], position: number): void {
    this.#file
      .prepare(
        `INSERT INTO point (run_number, key, position, body) VALUES (${runNumberQuery}, ?, ?, ?)
         ON CONFLICT DO UPDATE SET body = excluded.body`,
      )
      .run(runId, key, position, json);
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

  /** A run without its points. Throws `RUN_NOT_FOUND`, `RUN_DAMAGED`. */
  head(id: string): Run {
    const row = this.#file.prepare('SELECT * FROM run WHERE id = ?').get(id) as RunRow | undefined;
    if (row === undefined) throw new LabError('RUN_NOT_FOUND', { details: { id: id.slice(0, 64) } });
    const { value, damage } = readRun(row);
    if (damage === undefined) return value;
    throw new ServerError('RUN_DAMAGED', {
      message: `The stored run cannot be read: ${damage}`,
      details: { id, damage },
    });
  }

  /**
   * A run as JSON, in which the points are as they are stored. Its `damaged` names those that cannot be read, which are left out.
   * Rejects with `RUN_NOT_FOUND`, `RUN_DAMAGED`.
   */
  async json(id: string): Promise<string> {
    const { points: _points, ...head } = this.head(id);
    const damaged: string[] = [];
    const bodies: string[] = [];
    for (const { body } of this.#points(id, damaged)) {
      bodies.push(body);
      if (bodies.length % pointsPerTurn === 0) await nextTurn();
    }
    const fields = JSON.stringify({ ...head, ...(damaged.length > 0 ? { damaged } : {}) });
    return `${fields.slice(0, -1)},"points":[${bodies.join(',')}]}`;
  }

  /** The points of a run that can be read, in order, each read when it is requested. The others are named in `damaged`. */
  *points(id: string, damaged: string[] = []): Generator<Point> {
    for (const { value } of this.#points(id, damaged)) yield value;
  }

  /** The points of a run as they are stored, in order, each read when it is requested. Whoever parses them tells of damage. */
  pointsJson(id: string): Generator<string> {
    return storedPointTexts(this.#file, this.#runNumber(id));
  }

  tellPoint(id: string, number: number, damage: string): void {
    this.#tell(`Point ${number} of the run ${id} ${damage}`);
  }

  *#points(id: string, damaged: string[]): Generator<{ value: Point; body: string }> {
    for (const { value, damage, number, body } of storedPoints(this.#file, this.#runNumber(id))) {
      if (damage === undefined) yield { value, body };
      else {
        damaged.push(`point ${number} ${damage}`);
        this.tellPoint(id, number, damage);
      }
    }
  }

  /** The ticks of a run that can be read, with their numbers, in order. */
  *ticks(id: string): Generator<{ number: number; tick: Tick; body: string }> {
    for (const { value: tick, damage, number, body } of storedTicks(this.#file, this.#runNumber(id))) {
      if (damage === undefined) yield { number, tick, body };
      else this.#tell(`Tick ${number} of the run ${id} ${damage}`);
    }
  }

  /** The ticks of a run that can be read, as JSON. */
  async ticksJson(id: string): Promise<string> {
    const bodies: string[] = [];
    for (const { body } of this.ticks(id)) {
      bodies.push(body);
      if (bodies.length % ticksPerTurn === 0) await nextTurn();
    }
    return `[${bodies.join(',')}]`;
  }

  /** -1, which no run has, if it has been deleted. */
  #runNumber(id: string): number {
    return (this.#file.prepare('SELECT run_number FROM run WHERE id = ?').pluck().get(id) as number) ?? -1;
  }

  async list(options: RunListOptions): Promise<RunList> {
    const { notices = [] } = this.#options;
    const { damaged = [], ...list } = await listRuns(this.#file, options);
    for (const { id, damage } of damaged) this.#tell(`The run ${id} cannot be read: ${damage}`);
    return {
      ...list,
      ...(damaged.length > 0 ? { damaged } : {}),
      ...(notices.length > 0 && options.after === undefined ? { notices: [...notices] } : {}),
    };
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

  /** A run without its points; undefined if it cannot be read or has been deleted. */
  readableHead(id: string): Run | undefined {
    const row = this.#file.prepare('SELECT * FROM run WHERE id = ?').get(id) as RunRow | undefined;
    return row === undefined ? undefined : this.#readable(row);
  }

  /** The verdicts of a finished run; none if it cannot be read or has been deleted. */
  verdictsOf(runId: string): StoredVerdict[] {
    const run = this.readableHead(runId);
    return run === undefined ? [] : verdictsOf({ ...run, scenarioId: run.scenario.id });
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
  import({ head: run, points, ticks }: ReadRun): void {
    const file = this.#file;
    file
      .transaction(() => {
        this.add(run);
        file.prepare('UPDATE run SET imported = 1 WHERE id = ?').run(run.id);
        for (const [index, point] of points.entries()) this.#savePoint(run.id, point, index + 1);
        for (const [index, tick] of ticks.entries()) this.saveTick(run.id, index, tick);
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
