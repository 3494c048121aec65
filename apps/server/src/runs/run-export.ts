/**
 * A run as a file, point by point: the largest has 512 points, and a server shares its thread with its queues. JSON has
 * everything that is stored of the run, to be imported elsewhere; its ticks are on one line, because they are not meant for
 * reading. CSV is a table for spreadsheets and scripts: one row per point, with all parameters and figures.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CsvCell as Cell, csvLine, type Point, provenanceOf, type Run } from '@shardlab/contract';

/** The points of a run, in its order. */
export type Points = Iterable<Point> | AsyncIterable<Point>;

export interface RunToExport {
  /** Its points are left out. */
  head: Run;
  /** Called once for each time that the points are needed. */
  points(): Points;
  /** Names the points that could not be read, once all were requested. */
  damaged: readonly string[];
  /** The ticks as JSON. */
  ticks(): Promise<string>;
}

const percentiles = ['p50', 'p90', 'p99', 'p999', 'max', 'count'] as const;

/** Points that are converted in one turn of the event loop: about 2 ms. */
const pointsPerTurn = 4;

/** Indented JSON, as `JSON.stringify` writes it, but for ticks and what is damaged. */
export async function* runToJson({ head, points, damaged, ticks }: RunToExport): AsyncGenerator<string> {
  const [before, after] = JSON.stringify({ ...head, points: [] }, null, 2).split('\n  "points": []', 2);
  yield `${before}\n  "points": [`;
  let separator = '\n    ';
  for await (const point of inTurns(points())) {
    yield separator + JSON.stringify(point, null, 2).replaceAll('\n', '\n    ');
    separator = ',\n    ';
  }
  yield `${separator.startsWith(',') ? '\n  ' : ''}]${after!.slice(0, -'\n}'.length)}`;
  if (damaged.length > 0) yield `,\n  "damaged": ${JSON.stringify(damaged)}`;
  const ticksJson = await ticks();
  yield `${ticksJson === '[]' ? '' : `,\n  "ticks": ${ticksJson}`}\n}\n`;
}

/** A header line, and a line for each point. Times are milliseconds, rates per second; a list is one cell, separated by spaces. */
export async function* runToCsv({
  head,
  points,
}: Pick<RunToExport, 'head' | 'points'>): AsyncGenerator<string> {
  // Points differ in what they have: one that is not steady has no latency.
  const columns = new Set(columnsOfEmptyRun);
  for await (const point of inTurns(points())) for (const [name] of cellsOf(head, point)) columns.add(name);
  yield csvLine([...columns]);
  for await (const point of inTurns(points())) {
    const cells = new Map(cellsOf(head, point));
    yield csvLine([...columns].map((name) => cells.get(name) ?? null));
  }
}

/** Lets other work run after every few points. */
async function* inTurns(points: Points): AsyncGenerator<Point> {
  let count = 0;
  for await (const point of points) {
    yield point;
    count += 1;
    if (count % pointsPerTurn === 0) await nextTurn();
  }
}

const columnsOfEmptyRun = ['run', 'scenario', 'scale', 'status', 'program', 'system'];

function cellsOf(run: Run, point: Point): [name: string, cell: Cell][] {
  const { params, figures, latencies, byInstance, waits, integrity, conditions, killed } = point;
  return [
    ['run', run.id],
    ['scenario', run.scenario.id],
    ['scale', run.scale],
    ['status', run.status],
    ['program', point.program],
    ['system', point.system],
    ['provenance', provenanceOf(point)],
    ...Object.entries(params),
    ...Object.entries(figures).flatMap(([name, { value, repeats }]): [string, Cell][] => [
      [name, value],
      [`repeats.${name}`, repeats.join(' ')],
    ]),
    ...Object.entries(latencies).flatMap(([name, latency]) =>
      percentiles.map((each): [string, Cell] => [`${name}Ms.${each}`, latency[each]]),
    ),
    ...Object.entries(byInstance).map(([name, values]): [string, Cell] => [
      `${name}ByInstance`,
      values.join(' '),
    ]),
    ...Object.entries(integrity).map(([name, count]): [string, Cell] => [`integrity.${name}`, count]),
    ...Object.entries(killed ?? {}).map(([name, cell]): [string, Cell] => [`killed.${name}`, cell]),
    ['repeats', point.repeats.length],
    ...Object.entries(conditions ?? {}).map(([name, cell]): [string, Cell] => [
      `repeats.${name}`,
      Array.isArray(cell) ? cell.join('; ') : cell,
    ]),
    ['repeats.rateDrift', drifts(point, 'rateDrift')],
    ['repeats.backlogDrift', drifts(point, 'backlogDrift')],
    ...waits.flatMap((wait): [string, Cell][] => [
      [`waits.${wait.event}.class`, wait.class],
      [`waits.${wait.event}.count`, wait.waits],
      [`waits.${wait.event}.totalMs`, wait.totalMs],
      [`waits.${wait.event}.p99Ms`, wait.p99Ms],
      [`waits.${wait.event}.emulated`, String(wait.emulated)],
    ]),
  ];
}

/** Drift of each repeat; empty if the halves need not agree. */
const drifts = ({ repeats }: Point, name: 'rateDrift' | 'backlogDrift') =>
  repeats.flatMap(({ steady }) => steady?.[name] ?? []).join(' ');
