import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  bundledScenarioFolder,
  bundledStudies,
  planRun,
  readScenarioFolder,
  scenarioSchemaText,
} from '@shardlab/lab';
import { expect, test } from 'vitest';

test('the schema that editors use is the one that the contract generates', async () => {
  const committed = await readFile(join(bundledScenarioFolder, 'scenario.schema.json'), 'utf8');
  expect(JSON.parse(committed)).toEqual(JSON.parse(scenarioSchemaText(bundledStudies.programs)));
});

test('every scenario that comes with the lab is good, and its file is named by its id', async () => {
  const files = await readScenarioFolder();
  expect(files.map(({ file }) => file)).toContain('white-paper-figure-3.json');
  for (const { file, parsed } of files) {
    expect(parsed.ok ? [] : parsed.faults, file).toEqual([]);
    if (parsed.ok) expect(file).toBe(`${parsed.scenario.id}.json`);
  }
});

test('every quick run is planned for less than three minutes', async () => {
  for (const { parsed } of await readScenarioFolder()) {
    if (parsed.ok) expect(planRun(parsed.scenario, 'quick').estimatedMs).toBeLessThan(170_000);
  }
});

test('all quick runs of the white paper together are planned for less than 23 minutes', async () => {
  const plans = (await readScenarioFolder()).flatMap(({ parsed }) =>
    parsed.ok && parsed.scenario.study === 'white-paper'
      ? [planRun(parsed.scenario, 'quick').estimatedMs]
      : [],
  );
  expect(plans.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(23 * 60_000);
});
