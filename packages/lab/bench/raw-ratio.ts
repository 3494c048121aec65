/**
 * Compares both kinds of unsharded queue with SQLite without a queue (`packages/lab/src/raw`: insert, select and delete in
 * transactions of the same size), one after the other, so that all are measured with the same disk:
 *
 *     node packages/lab/bench/raw-ratio.ts [rounds, default 5] [sessions, default 16]
 *
 * Prints for each kind and transaction size the ratio of each round to the mean of the raw runs before and after it, and their
 * median. Each run is a process of its own. `group` compares with raw transactions that have the rows of all sessions, like the
 * largest possible group.
 */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TrialOptions, TrialResult } from '../src/pairs/trial-process.ts';

const [roundsText = '5', sessionsText = '16'] = process.argv.slice(2);
const sessions = Number(sessionsText);
const measureMs = 1_000;
const payloadBytes = 512;
const kinds = ['unsharded', 'unsharded-grouped'] as const;

async function measureRaw(operationsPerTransaction: number): Promise<number> {
  const dir = mkdtempSync('raw-');
  const job = {
    dir: join(dir, 'raw'),
    cycle: 'insert-select-delete',
    operationsPerTransaction,
    pageBytes: 4096,
    payloadBytes,
    measureMs,
  };
  const module = join(import.meta.dirname, '../src/raw/raw-process.ts');
  const child = fork(module, [JSON.stringify(job)]);
  const [[result]] = await Promise.all([once(child, 'message'), once(child, 'exit')]);
  rmSync(dir, { recursive: true, force: true });
  return (result as { rowsPerSec: number }).rowsPerSec;
}

function measureQueue(options: TrialOptions): number {
  const argument = JSON.stringify({ measureMs, payloadBytes, ...options });
  const output = execFileSync(
    process.execPath,
    [join(import.meta.dirname, '../src/pairs/trial-process.ts'), argument],
    {
      encoding: 'utf8',
    },
  );
  return (JSON.parse(output) as TrialResult).rates.dequeuePerSec;
}

const medianOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
const rounded = (value: number) => Math.round(value).toLocaleString('en');

for (const operationsPerTransaction of [1, 10]) {
  const ratios = new Map<string, number[]>();
  const rates = new Map<string, number[]>();
  const note = (map: Map<string, number[]>, name: string, value: number) =>
    void map.set(name, [...(map.get(name) ?? []), value]);
  for (let round = 0; round < Number(roundsText); round += 1) {
    let before = await measureRaw(operationsPerTransaction);
    for (const kind of kinds) {
      const rate = measureQueue({ kind, sessions, operationsPerTransaction });
      const after = await measureRaw(operationsPerTransaction);
      note(rates, kind, rate);
      note(rates, 'raw', after);
      note(ratios, kind, (2 * rate) / (before + after));
      before = after;
      if (kind === 'unsharded') continue;
      const ofGroup = await measureRaw(operationsPerTransaction * sessions);
      note(rates, 'raw, group', ofGroup);
      note(ratios, `${kind} over raw, group`, rate / ofGroup);
    }
  }
  console.log(`${operationsPerTransaction} a transaction, ${sessions} enqueuers and ${sessions} dequeuers`);
  for (const [name, values] of rates)
    console.log(`  ${name.padEnd(36)} ${rounded(medianOf(values))} messages/s`);
  for (const [name, values] of ratios)
    console.log(
      `  ${name.padEnd(36)} median ${medianOf(values).toFixed(2)}   ${values.map((ratio) => ratio.toFixed(2)).join(' ')}`,
    );
}
