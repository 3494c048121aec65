/**
 * 200 fixed damages of a folder with every kind of content: all that was acknowledged comes out, or a typed error or the
 * check says what is missing. `npm run torture -- --damage` tries 5,000.
 */
import { describe, expect, it } from 'vitest';
import { makeFolder } from '../folder.ts';
import { runRounds } from './damage/damage-round.ts';
import { makeOriginals } from './damage/originals.ts';

const rounds = 200;

describe('any one damage', () => {
  it('is harmless or told; nothing wrong comes out, and nothing is missing in silence', {
    timeout: 600_000,
  }, async () => {
    const originals = await makeOriginals(makeFolder());
    const kinds = new Set<string>();
    await runRounds({ first: 1, count: rounds }, originals, (result) => {
      const { verdict, damage } = result;
      kinds.add(`${damage.kind} ${verdict}`);
      expect(['right', 'reported'], JSON.stringify(result)).toContain(verdict);
    });
    expect(kinds.size).toBeGreaterThanOrEqual(8);
  });
});
