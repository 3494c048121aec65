/** Where the numbers of a hardware file come from, and which predictions need them. */
import { readFileSync } from 'node:fs';
import {
  countSources,
  followsFromStructure,
  type HardwareFile,
  holdsOverDrawnCosts,
  sourcesInWords,
  sourcesOf,
} from '@shardlab/model';
import { describe, expect, test } from 'vitest';

const fileOf = (id: string) =>
  JSON.parse(
    readFileSync(new URL(`../../../scenarios/hardware/${id}.json`, import.meta.url), 'utf8'),
  ) as HardwareFile;
const exadata = fileOf('exadata-x4-2');
const here = fileOf('two-core-epyc');

describe('the sources of a hardware file', () => {
  test('are counted over all numbers of the file', () => {
    for (const file of [exadata, here]) {
      const counts = countSources(file);
      const leaves = sourcesOf(file.costs);
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(leaves.length);
      expect(counts.chosen).toBe(leaves.filter(({ leaf }) => leaf.source === 'chosen').length);
    }
  });

  test('are described in one sentence, which calls multiples of free parameters chosen', () => {
    expect(sourcesInWords(exadata)).toContain('18 chosen multiples of 3 free parameters');
    expect(sourcesInWords(exadata)).not.toContain('measured');
    expect(sourcesInWords(here)).toMatch(
      /^Of \d+ numbers and switches: \d+ measured, \d+ facts of the design, /,
    );
    expect(sourcesInWords(here)).not.toContain('free parameters');
  });

  test('are _chosen_ for every number whose note says assumed or not modelled', () => {
    for (const { path, leaf } of [exadata, here].flatMap(({ costs }) => sourcesOf(costs))) {
      if (leaf.source === 'fitted' || !/assumed|not modelled/i.test(leaf.note ?? '')) continue;
      expect([path, leaf.source]).toEqual([path, 'chosen']);
    }
  });
});

describe('predictions with drawn costs', () => {
  const options = { draws: 2, effort: 0.02 };

  test('are counted for each claim, with the same result for the same seed', () => {
    const counts = holdsOverDrawnCosts(exadata, options);
    expect(counts.map(({ claim }) => claim).join(' ')).toBe('A1 A4 A6 A7 A12 A13 A14 A15 A16 A17 A18');
    for (const { holds, of } of counts) {
      expect(of).toBe(2);
      expect(holds).toBeGreaterThanOrEqual(0);
      expect(holds).toBeLessThanOrEqual(of);
    }
    expect(holdsOverDrawnCosts(exadata, options)).toEqual(counts);
  });

  test('of a file without fitted costs hold always or, apart from random variation, never', () => {
    const fixed = JSON.parse(
      JSON.stringify(exadata, (_, node) =>
        node?.source === 'fitted'
          ? { source: 'chosen', value: node.times * exadata.parameters[node.parameter]!.value }
          : node,
      ),
    ) as HardwareFile;
    const counts = holdsOverDrawnCosts({ ...fixed, parameters: {} }, { draws: 2, effort: 0.05 });
    const hold = (claim: string) => counts.find((count) => count.claim === claim)!.holds;
    expect([hold('A6'), hold('A12'), hold('A16')]).toEqual([2, 0, 0]);
  });

  test('of a rate do not follow from the structure: they hold for some costs and fail for others', () => {
    const rate = holdsOverDrawnCosts(exadata, { draws: 8, effort: 0.02 }).find(
      ({ claim }) => claim === 'A12',
    )!;
    expect(followsFromStructure(rate)).toBe(false);
  });

  test('follow from the structure if they hold for at least 95 % of the draws', () => {
    expect(followsFromStructure({ holds: 190, of: 200 })).toBe(true);
    expect(followsFromStructure({ holds: 189, of: 200 })).toBe(false);
  });
});
