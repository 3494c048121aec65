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
import { constants, gunzip, gzipSync } from 'node:zlib';
import {
  comparableParameters,
  type Environment,
  type Point,
  parametersKey,
  type Run,
  type Tick,
} from '@shardlab/contract';

const format = 2;
const suffix = '.jsonl.gz';
const decompress = promisify(gunzip);

export const recordedFolder = fileURLToPath(new URL('../../../../scenarios/recorded/', import.meta.url));

export interface RecordedHead {
  /** Fingerprint of the code that measured it: `codeFingerprint()`. */
  code: string;
  /** Without its points. */
  run: Run & { recordedOn: string };
}

/** A recording whose large parts are still JSON. */
export interface RecordedText extends RecordedHead {
  /** An array of ticks: of one repeat, of the parameters that `ticksToReplay` chooses. */
  ticksJson: string;
  pointsJson: string[];
}

/** The recorded run of a scenario has the same id on every machine. */
export const recordedRunId = (scenarioId: string): string => `recorded-${scenarioId}`;

const pathOf = (scenarioId: string, folder: string): string => join(folder, `${scenarioId}${suffix}`);

/** Reads a recording; undefined if there is none, or it has another format. */
export async function readRecorded(
  scenarioId: string,
  folder = recordedFolder,
): Promise<RecordedText | undefined> {
  const path = pathOf(scenarioId, folder);
  if (!existsSync(path)) return undefined;
  const text = (await decompress(await readFile(path))).toString();
  const [line = '', ticksJson = '', ...pointsJson] = text.trimEnd().split('\n');
  const head = parseHead(line);
  return head === undefined ? undefined : { ...head, ticksJson, pointsJson };
}

function parseHead(line: string): RecordedHead | undefined {
  const parsed = JSON.parse(line) as RecordedHead & { format: number };
  return parsed.format === format ? { code: parsed.code, run: parsed.run } : undefined;
}

/**
 * Number of compressed bytes that contain the head of nearly every recording. All recordings together are 60 MB of JSON, their
 * heads 2 MB.
 */
const headBytes = 16 * 1024;

async function readHead(path: string): Promise<RecordedHead | undefined> {
  const file = await readFile(path);
  for (let bytes = headBytes; ; bytes *= 4) {
    // The truncated data is decompressed as far as possible.
    const text = await decompress(file.subarray(0, bytes), { finishFlush: constants.Z_SYNC_FLUSH });
    const end = text.indexOf('\n');
    if (end >= 0) return parseHead(text.toString('utf8', 0, end));
    if (bytes >= file.length) throw new RangeError(`${path} has no line`);
  }
}

/**
 * All of them without their points, in the order of their scenarios' ids. With `onDamage`, a file that cannot be read is named to it and
 * left out; without it, this rejects.
 */
export async function listRecorded(
  folder = recordedFolder,
  onDamage?: (sentence: string) => void,
): Promise<RecordedHead[]> {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(suffix));
  const heads = await Promise.all(
    names.sort().map(async (name) => {
      const reading = readHead(join(folder, name));
      if (onDamage === undefined) return reading;
      return reading.catch((error) => onDamage(`${name} cannot be read: ${(error as Error).message}`));
    }),
  );
  return heads.filter((head): head is RecordedHead => head !== undefined);
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

/**
 * The ticks of the parameters that a headline compares, and of those at which a system was best by the program's first
 * figure: of all systems, so that they can be shown side by side.
 */
export function ticksToReplay(run: Run, figure: string, ticks: readonly Tick[]): Tick[] {
  const best = new Map<string, Point>();
  const valueIn = (point: Point | undefined) => point?.figures[figure]?.value ?? 0;
  for (const point of run.points)
    if (valueIn(point) >= valueIn(best.get(point.system))) best.set(point.system, point);
  const keys = new Set([comparableParameters(run.points), ...[...best.values()].map(parametersKey)]);
  return ticks.filter((tick) => keys.has(parametersKey(tick)));
}

/** "2 × Intel Xeon, ext4, 2026-11-21" */
function machineInWords(environment: Environment | null, atMs: number): string {
  const date = new Date(atMs).toISOString().slice(0, 10);
  if (environment === null) return `an unknown machine, ${date}`;
  const { cores, cpuModel, fileSystem } = environment;
  return `${cores} × ${cpuModel}, ${fileSystem}, ${date}`;
}
