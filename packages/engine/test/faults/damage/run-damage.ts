/** `npm run torture -- --damage [--count 5000] [--seed 1] [--verbose]`: rounds of damage; fails if one is silent or wrong. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeTestFolder } from '../../../../../scripts/test-folder.ts';
import { type RoundResult, runRounds } from './damage-round.ts';
import { makeOriginals } from './originals.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
});
const first = Number(values.seed);
const count = Number(values.count);
/** Number of rounds between two lines of progress. */
const progressRounds = 500;
const dir = mkdtempSync(join(makeTestFolder(), 'shardlab-damage-'));
/** Counts of rounds by file and verdict, and by verdict alone. */
const tally = new Map<string, number>();
let done = 0;
let bad = 0;

function countRound(key: string): void {
  tally.set(key, (tally.get(key) ?? 0) + 1);
}

function describeRound({ seed, damage, verdict, missing, extra, seen }: RoundResult): string {
  const { folder, file, kind, at, bit } = damage;
  const shown = (items: string[]) =>
    items
      .slice(0, 3)
      .map((item) => item.slice(0, 90))
      .join(' | ');
  return [
    `seed ${seed}: ${verdict}: ${kind} at byte ${at}, bit ${bit} of ${folder}/${file}`,
    `  missing ${missing.length}: ${shown(missing)}`,
    `  extra ${extra.length}: ${shown(extra)}`,
    `  reports ${seen.reports.slice(0, 3).join(' | ')}`,
    `  unexplained ${seen.unexplained.slice(0, 2).join(' | ')}`,
  ].join('\n');
}

try {
  const originals = await makeOriginals(dir);
  const startedAt = performance.now();
  const seconds = () => `${((performance.now() - startedAt) / 1_000).toFixed(0)} s`;
  const seeds = Array.from({ length: count }, (_, index) => first + index);
  await runRounds(seeds, originals, (result) => {
    const isBad = !['right', 'reported'].includes(result.verdict);
    if (isBad) bad += 1;
    countRound(`${result.damage.file} ${result.verdict}`);
    countRound(`all files ${result.verdict}`);
    if (isBad || values.verbose) console.log(describeRound(result));
    done += 1;
    if (done % progressRounds === 0) console.log(`${done} rounds, ${bad} bad, ${seconds()}`);
  });
  for (const [key, rounds] of [...tally].toSorted()) console.log(`${key}: ${rounds}`);
  console.log(`${count} rounds from seed ${first}, ${bad} silent, wrong or unexplained, ${seconds()}`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exitCode = bad === 0 ? 0 : 1;
