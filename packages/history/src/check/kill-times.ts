/** When holds of a process may have ended because it, or another one, was killed. */
import type { Kill } from '../record/operation.ts';

interface Kills {
  /** End times of the kills, in order. */
  ends: number[];
  /** For each kill, the earliest start among it and all kills that end later. */
  earliestStarts: number[];
}

export class KillTimes {
  readonly #ofAny: Kills;
  readonly #ofProcess = new Map<string, Kills>();

  constructor(kills: readonly Kill[]) {
    const ofProcess = new Map<string, Kill[]>();
    for (const kill of kills) {
      for (const name of kill.of ?? []) {
        const list = ofProcess.get(name);
        if (list === undefined) ofProcess.set(name, [kill]);
        else list.push(kill);
      }
    }
    this.#ofAny = sorted(kills.filter((kill) => kill.of === undefined));
    for (const [name, list] of ofProcess) this.#ofProcess.set(name, sorted(list));
  }

  /** The earliest time at which a hold that began at `start` or later may have ended by a kill; Infinity if none. */
  earliestAfter(start: number, processes: readonly string[]): number {
    let earliest = earliestIn(this.#ofAny, start);
    for (const name of processes) {
      const kills = this.#ofProcess.get(name);
      if (kills !== undefined) earliest = Math.min(earliest, earliestIn(kills, start));
    }
    return earliest;
  }
}

function sorted(kills: readonly Kill[]): Kills {
  const byEnd = [...kills].sort((a, b) => a.end - b.end);
  const earliestStarts = byEnd.map(({ start }) => start);
  for (let i = earliestStarts.length - 2; i >= 0; i -= 1)
    earliestStarts[i] = Math.min(earliestStarts[i]!, earliestStarts[i + 1]!);
  return { ends: byEnd.map(({ end }) => end), earliestStarts };
}

function earliestIn({ ends, earliestStarts }: Kills, start: number): number {
  return earliestStarts[firstAtLeast(ends, start)] ?? Number.POSITIVE_INFINITY;
}

/** Index of the first number that is not below `bound`, in numbers in order. */
export function firstAtLeast(numbers: readonly number[], bound: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
