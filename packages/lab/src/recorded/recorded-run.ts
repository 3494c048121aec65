/**
 * A run at full scale that the repository keeps, for machines that have none of their own: `scenarios/recorded/ID.jsonl.gz`
 * with a line for the run without its points, one for its ticks and one for each point. So a server that shares its thread
 * with queues can send a run without parsing more than the first line.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzip, gzipSync } from 'node:zlib';
import { type Environment, type Point, pointKey, type Run, type Tick } from '@shardlab/contract';

const format = 2;
const suffix = '.jsonl.gz';
const decompress = promisify(gunzip);

export const recordedFolder = fileURLToPath(new URL('../../../../scenarios/recorded/', import.meta.url));

export interface RecordedHead {
  /** Of the code that measured it: `codeFingerprint()`. */
  code: string;
  /** Without its points. */
  run: Run & { recordedOn: string };
}

/** A recording whose large parts are still JSON. */
export interface RecordedText extends RecordedHead {
  /** An array of ticks: of one repeat of the best point of each system, so that it can be replayed. */
  ticksJson: string;
  pointsJson: string[];
}

/** The recorded run of a scenario has the same id on every machine. */
export const recordedRunId = (scenarioId: string): string => `recorded-${scenarioId}`;

const pathOf = (scenarioId: string, folder: string): string => join(folder, `${scenarioId}${suffix}`);

/** Undefined if there is none, or one of another format. */
export async function readRecorded(
  scenarioId: string,
  folder = recordedFolder,
): Promise<RecordedText | undefined> {
  const path = pathOf(scenarioId, folder);
  if (!existsSync(path)) return undefined;
  const text = (await decompress(await readFile(path))).toString();
  const [head = '', ticksJson = '', ...pointsJson] = text.trimEnd().split('\n');
  const parsed = JSON.parse(head) as RecordedHead & { format: number };
  if (parsed.format !== format) return undefined;
  return { code: parsed.code, run: parsed.run, ticksJson, pointsJson };
}

/** All of them without their points, in the order of their scenarios' ids. */
export async function listRecorded(folder = recordedFolder): Promise<RecordedHead[]> {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(suffix));
  const heads: RecordedHead[] = [];
  for (const name of names.sort()) {
    const recorded = await readRecorded(name.slice(0, -suffix.length), folder);
    if (recorded !== undefined) heads.push({ code: recorded.code, run: recorded.run });
  }
  return heads;
}

/** `run` has its points. Returns the path of the file. */
export function writeRecorded(
  { code, run, ticks }: { code: string; run: Run; ticks: readonly Tick[] },
  folder = recordedFolder,
): string {
  const { points, ...rest } = run;
  const id = recordedRunId(run.scenario.id);
  const recordedOn = machineInWords(run.environment, run.endedAtMs ?? run.createdAtMs);
  const head = { format, code, run: { ...rest, id, points: [], recordedOn } };
  const lines = [head, ticks, ...points].map((line) => `${JSON.stringify(line)}\n`);
  mkdirSync(folder, { recursive: true });
  const path = pathOf(run.scenario.id, folder);
  writeFileSync(path, gzipSync(lines.join(''), { level: 9 }));
  return path;
}

export function pointsOf({ pointsJson }: RecordedText): Point[] {
  return pointsJson.map((json) => JSON.parse(json) as Point);
}

/** The ticks of the points that are the best of their system by the program's first figure. */
export function ticksOfBest(run: Run, figure: string, ticks: readonly Tick[]): Tick[] {
  const best = new Map<string, { key: string; value: number }>();
  for (const point of run.points) {
    const value = point.figures[figure]?.value ?? 0;
    if (value >= (best.get(point.system)?.value ?? 0))
      best.set(point.system, { key: pointKey(point), value });
  }
  const keys = new Set([...best.values()].map(({ key }) => key));
  return ticks.filter((tick) => keys.has(pointKey(tick)));
}

/** "2 × Intel Xeon, ext4, 2026-11-21" */
function machineInWords(environment: Environment | null, atMs: number): string {
  const date = new Date(atMs).toISOString().slice(0, 10);
  if (environment === null) return `an unknown machine, ${date}`;
  const { cores, cpuModel, fileSystem } = environment;
  return `${cores} × ${cpuModel}, ${fileSystem}, ${date}`;
}
