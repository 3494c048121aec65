/** Random branches and local transactions with power cuts and full disks: no message is lost, duplicated or held twice, and none is torn. */
import { expect, it } from 'vitest';
import { drawnSeed } from '../random.ts';
import { RandomBranches } from './random-branches.ts';

const seeds = drawnSeed === 1 ? 60 : 2_000;

it(`random branches break nothing with ${seeds} seeds`, async () => {
  const total = { prepared: 0, committed: 0, rolledBack: 0, inDoubtAfterCrash: 0, crashes: 0 };
  for (let index = 0; index < seeds; index += 1) {
    const seed = drawnSeed * 10_000 + index;
    try {
      const result = await new RandomBranches(seed).run(400);
      for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += result[name];
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
  // Each outcome occurred often enough to be tested.
  for (const [name, count] of Object.entries(total)) expect(count, name).toBeGreaterThan(seeds / 2);
});
