import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run } from '@shardlab/contract';
import { newRun } from '@shardlab/lab';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { appendVerdicts, historyFileName, readVerdicts } from '../src/judging/verdict-history.ts';
import { smallScenario } from './support.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const runOf = (id: string): Run =>
  newRun({ id, scenario: smallScenario({ claims: ['A3', 'A7'] }), scale: 'quick', createdAtMs: 1 });

test('nothing is kept before the first run', async () => {
  expect(await readVerdicts(join(folder, 'none'))).toEqual([]);
});

test('verdicts are kept in order, with their run', async () => {
  await appendVerdicts(folder, runOf('one'));
  await appendVerdicts(folder, runOf('two'));
  const kept = await readVerdicts(folder);
  expect(kept.map(({ id, runId, verdict }) => [id, runId, verdict])).toEqual([
    ['A3', 'one', 'inconclusive'],
    ['A7', 'one', 'inconclusive'],
    ['A3', 'two', 'inconclusive'],
    ['A7', 'two', 'inconclusive'],
  ]);
});

test('a line that was cut off is skipped', async () => {
  await appendVerdicts(folder, runOf('one'));
  await appendFile(join(folder, historyFileName), '{"id":"A3","verd');
  expect(await readVerdicts(folder)).toHaveLength(2);
});

test('a file that exceeds its bound loses the older half', async () => {
  const path = join(folder, historyFileName);
  await appendVerdicts(folder, runOf('old'));
  const line = (await readFile(path, 'utf8')).split('\n')[0]!;
  await writeFile(path, `${line}\n`.repeat(Math.ceil((8 * 1024 ** 2) / line.length)));
  await appendVerdicts(folder, runOf('new'));
  expect((await stat(path)).size).toBeLessThan(5 * 1024 ** 2);
  expect((await readVerdicts(folder)).at(-1)).toMatchObject({ id: 'A7', runId: 'new' });
});

test('a line that does not fit is skipped', async () => {
  await appendVerdicts(folder, runOf('one'));
  const path = join(folder, historyFileName);
  const line = JSON.parse((await readFile(path, 'utf8')).split('\n')[0]!);
  for (const change of [{ clauses: [null] }, { verdict: 'perhaps' }, { scenarioId: 7 }, { endedAtMs: null }])
    await appendFile(path, `${JSON.stringify({ ...line, ...change })}\nnull\n`);
  const told: string[] = [];
  expect(await readVerdicts(folder, (sentence) => told.push(sentence))).toHaveLength(2);
  expect(told).toEqual(['claim-verdicts.jsonl: 8 of 10 lines do not fit and are left out']);
});

test('lines of a version that judged by other rules are skipped', async () => {
  await appendVerdicts(folder, runOf('one'));
  await appendFile(join(folder, historyFileName), '{"id":"A3","verdict":"holds","value":1}\n');
  expect(await readVerdicts(folder)).toHaveLength(2);
});

test('a line from before trials were counted has none', async () => {
  const run = runOf('one');
  await appendVerdicts(folder, { ...run, progress: { ...run.progress, done: 5 } });
  expect(await readVerdicts(folder)).toMatchObject([{ trials: 5 }, { trials: 5 }]);
  const path = join(folder, historyFileName);
  const { trials: _, ...older } = JSON.parse((await readFile(path, 'utf8')).split('\n')[0]!);
  await writeFile(path, `${JSON.stringify(older)}\n`);
  expect(await readVerdicts(folder)).toMatchObject([{ id: 'A3', trials: 0 }]);
});
