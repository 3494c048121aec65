/**
 * Counters: totals that only grow, since an instance opened. A module registers its counters beside the code that adds to them;
 * statistics and metrics show all that are registered.
 */
export interface CounterInfo {
  name: string;
  unit: string;
  /** What it counts, as a phrase. */
  about: string;
}

/** A registered counter. */
export interface Counter extends Readonly<CounterInfo> {
  /** Position in the registry of this process, from 0. */
  readonly index: number;
}

const registered: Counter[] = [];

/**
 * Makes a counter known to this process. As with `registerWaitEvent`, registering it again with the same meaning returns the same
 * counter, and another meaning throws a RangeError.
 */
export function registerCounter(info: CounterInfo): Counter {
  const known = registered.find(({ name }) => name === info.name);
  if (known === undefined) {
    const counter = { ...info, index: registered.length };
    registered.push(counter);
    return counter;
  }
  if (known.unit === info.unit && known.about === info.about) return known;
  throw new RangeError(`the counter "${info.name}" is registered with another meaning`);
}

/** All counters that this process knows. */
export const counters = (): readonly Counter[] => registered;
