/** A sample of the self-test: `npm run history:selftest` plants every bug, and runs every workload on the engine as it is. */
import { expect, it } from 'vitest';
import { plants } from '../selftest/plants.ts';
import { runPlant } from '../selftest/run-plant.ts';
import { describeVerdict, violationKinds } from '../src/index.ts';

const sample = [
  'some consumption is not written',
  'a rollback leaves what it enqueued',
  'priorities are swapped',
  'a receipt is accepted after its hold expired',
  'a hold expires early',
];

it.each(sample)('the checker finds that %s', { timeout: 240_000 }, async (name) => {
  const plant = plants.find((each) => each.name === name)!;
  const { found, verdict } = await runPlant({ ...plant, seed: 1, roundsMax: 8 });
  expect(found, describeVerdict(verdict)).toBeDefined();
  expect(found!.operations.length).toBeGreaterThan(0);
});

it('the checker finds no violation in the engine without a planted bug', { timeout: 240_000 }, async () => {
  const run = { edits: [], workload: 'plain', seed: 1, kinds: violationKinds, roundsMax: 2 } as const;
  const { verdict, failures } = await runPlant(run);
  expect(verdict.violations, describeVerdict(verdict)).toEqual([]);
  expect(failures).toEqual([]);
  expect(verdict.consumed).toBeGreaterThan(50);
  expect(verdict.inspections).toBe(1);
});
