/**
 * Each kind of damage to each file of a folder with every kind of content: all that was acknowledged can be read, or a
 * typed error or the check reports what is missing. `npm run torture -- --damage` tries 5,000.
 */
import { describe, expect, it } from 'vitest';
import { makeFolder } from '../folder.ts';
import { drawDamage, runRounds } from './damage/damage-round.ts';
import { makeOriginals, type Originals } from './damage/originals.ts';

const seedMax = 500;

/** The first seed up to `seedMax` for each kind of damage to each file, of the closed folder and of the killed one. */
function chooseSeeds(originals: Originals): number[] {
  const seeds = Array.from({ length: seedMax }, (_, index) => index + 1);
  const kindOf = (seed: number) => {
    const { folder, file, kind } = drawDamage(seed, originals);
    return `${folder} ${file} ${kind}`;
  };
  return [...Map.groupBy(seeds, kindOf).values()].map(([first]) => first!);
}

describe('any one damage', () => {
  it('is harmless or reported: no wrong content is returned, and none is missing without an error', {
    timeout: 600_000,
  }, async () => {
    const originals = await makeOriginals(makeFolder());
    const kinds = new Set<string>();
    const seeds = chooseSeeds(originals);
    expect(seeds.length).toBeGreaterThan(60);
    await runRounds(seeds, originals, (result) => {
      const { verdict, damage } = result;
      kinds.add(`${damage.kind} ${verdict}`);
      expect(['right', 'reported'], JSON.stringify(result)).toContain(verdict);
    });
    expect(kinds.size).toBeGreaterThanOrEqual(8);
  });
});
