/**
 * The query string of the what-if page: the machine, the run, the metric, the number of threads, the removed limits, and each
 * slider that was moved.
 */
import { sliderSteps, type WhatIfSettings, whatIfDefault, whatIfThreadsMax } from '../../model/what-if.ts';
import { isLimit, type Limit } from '../../model/what-if-limits.ts';

export interface WhatIfSearch extends Partial<WhatIfSettings> {
  hardware?: string;
  run?: string;
  /** Name of a figure. */
  metric?: string;
  /** Number of threads for which the model answers; left out for the one with the highest rate. */
  threads?: number;
  /** Limits that are removed. */
  without?: Limit[];
}

/** Drops unknown values, so that an old link shows the page instead of an error. */
export function readWhatIfSearch(search: Record<string, unknown>): WhatIfSearch {
  const read: WhatIfSearch = {};
  for (const name of Object.keys(sliderSteps) as (keyof WhatIfSettings)[]) {
    const value = search[name];
    const max = sliderSteps[name].at(-1)!;
    const min = sliderSteps[name][0];
    if (typeof value === 'number' && value >= min && value <= max) read[name] = value;
  }
  const { threads } = search;
  if (typeof threads === 'number' && Number.isInteger(threads) && threads >= 1 && threads <= whatIfThreadsMax)
    read.threads = threads;
  if (typeof search.metric === 'string') read.metric = search.metric;
  if (typeof search.hardware === 'string') read.hardware = search.hardware;
  if (typeof search.run === 'string') read.run = search.run;
  const without = Array.isArray(search.without) ? search.without.filter(isLimit) : [];
  if (without.length > 0) read.without = without;
  return read;
}

export function settingsFromSearch(search: WhatIfSearch): WhatIfSettings {
  const {
    hardware: _hardware,
    run: _run,
    metric: _metric,
    threads: _threads,
    without: _without,
    ...settings
  } = search;
  return { ...whatIfDefault, ...settings };
}
