/** The points and ticks of stored runs: each is read when it is requested, and one that cannot be read is left out. */
import { Point, Tick } from '@shardlab/contract';
import type { LabDatabase } from './lab-database.ts';
import { readStored, type Stored } from './stored-json.ts';

/** What is stored of a point or tick, with its value or why there is none. */
export type StoredPart<T> = Stored<T> & { number: number; body: string };

/** As they are stored, in their order. */
export function* storedPointTexts(file: LabDatabase, runNumber: number): Generator<string> {
  const keys = file
    .prepare('SELECT key FROM point WHERE run_number = ? ORDER BY position')
    .pluck()
    .all(runNumber) as string[];
  const read = file.prepare('SELECT body FROM point WHERE run_number = ? AND key = ?').pluck();
  for (const key of keys) {
    const body = read.get(runNumber, key) as string | undefined;
    if (body !== undefined) yield body; // else the run has been deleted
  }
}

/** In their order. `number`: counted from 1. */
export function* storedPoints(file: LabDatabase, runNumber: number): Generator<StoredPart<Point>> {
  let number = 0;
  for (const body of storedPointTexts(file, runNumber)) {
    number += 1;
    yield { ...readStored<Point>(body, Point), number, body };
  }
}

/** In their order. `number`: as they were saved. */
export function* storedTicks(file: LabDatabase, runNumber: number): Generator<StoredPart<Tick>> {
  const numbers = file
    .prepare('SELECT tick_number FROM tick WHERE run_number = ? ORDER BY tick_number')
    .pluck()
    .all(runNumber) as number[];
  const read = file.prepare('SELECT body FROM tick WHERE run_number = ? AND tick_number = ?').pluck();
  for (const number of numbers) {
    const body = read.get(runNumber, number) as string | undefined;
    if (body !== undefined) yield { ...readStored<Tick>(body, Tick), number, body };
  }
}
