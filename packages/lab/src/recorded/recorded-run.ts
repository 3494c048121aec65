/**
 * A run at full scale that the repository keeps, for machines that have none of their own: `scenarios/recorded/ID.json.gz`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { pointKey, type Run, type Tick } from '@shardlab/contract';

const format = 1;

export const recordedFolder = fileURLToPath(new URL('../../../../scenarios/recorded/', import.meta.url));

export interface RecordedRun {
  format: typeof format;
  /** Of the code that measured it: `codeFingerprint()`. */
  code: string;
  run: Run;
  /** Of one repeat of the best point of each system, so that it can be replayed. */
  ticks: Tick[];
}

export function recordedPath(scenarioId: string, folder = recordedFolder): string {
  return join(folder, `${scenarioId}.json.gz`);
}

/** Undefined if there is none, or one of another format. */
export function readRecorded(scenarioId: string, folder = recordedFolder): RecordedRun | undefined {
  const path = recordedPath(scenarioId, folder);
  if (!existsSync(path)) return undefined;
  const recorded = JSON.parse(gunzipSync(readFileSync(path)).toString()) as RecordedRun;
  return recorded.format === format ? recorded : undefined;
}

export function writeRecorded(recorded: Omit<RecordedRun, 'format'>, folder = recordedFolder): string {
  mkdirSync(folder, { recursive: true });
  const path = recordedPath(recorded.run.scenario.id, folder);
  writeFileSync(path, gzipSync(JSON.stringify({ format, ...recorded }), { level: 9 }));
  return path;
}

/** All of them, in the order of their scenarios' ids. */
export function listRecorded(folder = recordedFolder): RecordedRun[] {
  if (!existsSync(folder)) return [];
  const ids = readdirSync(folder).filter((name) => name.endsWith('.json.gz'));
  return ids.sort().flatMap((name) => readRecorded(name.slice(0, -'.json.gz'.length), folder) ?? []);
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
