/** `npm run torture -- --damage [--count 5000] [--seed 1] [--verbose]`: rounds of damage; fails if one is silent or wrong. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeOriginals, type RoundResult, runRound } from './damage-round.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
});
const first = Number(values.seed);
const count = Number(values.count);
const dir = mkdtempSync(join(tmpdir(), 'shardlab-damage-'));
const tally = new Map<string, number>();
let bad = 0;

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
  for (let seed = first; seed < first + count; seed += 1) {
    const result = await runRound(seed, originals);
    const isBad = !['right', 'reported'].includes(result.verdict);
    if (isBad) bad += 1;
    const key = `${result.damage.file} ${result.verdict}`;
    tally.set(key, (tally.get(key) ?? 0) + 1);
    if (isBad || values.verbose) console.log(describeRound(result));
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  for (const [key, rounds] of [...tally].toSorted()) console.log(`${key}: ${rounds}`);
  console.log(
    `${count} rounds from seed ${first}, ${bad} silent, wrong or unexplained, ${seconds.toFixed(0)} s`,
  );
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exitCode = bad === 0 ? 0 : 1;
