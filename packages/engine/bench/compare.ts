/**
 * Runs the same short trials on two checkouts in turn, so that both are measured under the same conditions:
 *
 *     node bench/compare.ts ../before ../after [pairs, default 7] [case …]
 *
 * Prints for each case the ratio of after to before, pair by pair, with their median. Each trial is a process of its own.
 */
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { TrialOptions, TrialResult } from './trial.ts';

const cases: Record<string, TrialOptions> = {
  queue10: { sessions: 16, operationsPerTransaction: 10 },
  queue1x32: { sessions: 32, operationsPerTransaction: 1 },
  queue1000: { sessions: 4, operationsPerTransaction: 1_000 },
  topic10: { sessions: 4, operationsPerTransaction: 10, subscribers: 10 },
  remote10: { sessions: 8, operationsPerTransaction: 10, connections: 2 },
};

const [before, after, pairs = '7', ...named] = process.argv.slice(2);
if (before === undefined || after === undefined)
  throw new Error('usage: compare.ts BEFORE AFTER [PAIRS] [CASE …]');

function measure(checkout: string, options: TrialOptions): TrialResult {
  const trial = join(import.meta.dirname, 'trial.ts');
  const argument = JSON.stringify({ measureMs: 2_500, ...options, checkout: resolve(checkout) });
  return JSON.parse(execFileSync(process.execPath, [trial, argument], { encoding: 'utf8' })) as TrialResult;
}

const medianOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

for (const [name, options] of Object.entries(cases)) {
  if (named.length > 0 && !named.includes(name)) continue;
  const rates: { before: number; after: number }[] = [];
  for (let pair = 0; pair < Number(pairs); pair += 1) {
    // The order alternates, since the second of a pair may find its files in the cache of the disk.
    const order = pair % 2 === 0 ? (['before', 'after'] as const) : (['after', 'before'] as const);
    const rate = { before: 0, after: 0 };
    for (const which of order)
      rate[which] = measure(which === 'before' ? before : after, options).dequeuePerSec;
    rates.push(rate);
  }
  const ratios = rates.map((rate) => rate.after / rate.before);
  const shown = ratios.map((ratio) => ratio.toFixed(2)).join(' ');
  console.log(
    `${name.padEnd(10)} median ${medianOf(ratios).toFixed(3)}   pairs ${shown}   ` +
      `before ${Math.round(medianOf(rates.map((rate) => rate.before)))}/s, after ${Math.round(medianOf(rates.map((rate) => rate.after)))}/s`,
  );
}
