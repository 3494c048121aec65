import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run } from '@shardlab/contract';
import { newRun } from '@shardlab/lab';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  appendVerdicts,
  byEvidence,
  historyFileName,
  readVerdicts,
  type StoredVerdict,
} from '../src/judging/verdict-history.ts';
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

test('a line that was cut off is passed over', async () => {
  await appendVerdicts(folder, runOf('one'));
  await appendFile(join(folder, historyFileName), '{"id":"A3","verd');
  expect(await readVerdicts(folder)).toHaveLength(2);
});

test('past its bound the file loses the older half', async () => {
  const path = join(folder, historyFileName);
  await appendVerdicts(folder, runOf('old'));
  const line = (await readFile(path, 'utf8')).split('\n')[0]!;
  await writeFile(path, `${line}\n`.repeat(Math.ceil((8 * 1024 ** 2) / line.length)));
  await appendVerdicts(folder, runOf('new'));
  expect((await stat(path)).size).toBeLessThan(5 * 1024 ** 2);
  expect((await readVerdicts(folder)).at(-1)).toMatchObject({ id: 'A7', runId: 'new' });
});

test('lines of a version that judged by other rules are skipped', async () => {
  await appendVerdicts(folder, runOf('one'));
  await appendFile(join(folder, historyFileName), '{"id":"A3","verdict":"holds","value":1}\n');
  expect(await readVerdicts(folder)).toHaveLength(2);
});

test('better evidence counts more than newer: measured, final, full scale, more repeats, undisturbed, then the newest', async () => {
  await appendVerdicts(folder, runOf('one'));
  const [unmeasured] = await readVerdicts(folder);
  const clause = { ...unmeasured!.clauses[0]!, value: 1 };
  const named = (runId: string, change: Partial<StoredVerdict>): StoredVerdict => ({
    ...unmeasured!,
    verdict: 'holds',
    clauses: [clause],
    provisional: false,
    scale: 'full',
    repeats: 5,
    endedAtMs: 1,
    runId,
    ...change,
  });
  const bestFirst = [
    named('ten repeats', { repeats: 10 }),
    named('newer', { endedAtMs: 3 }),
    named('older', { endedAtMs: 2 }),
    named('disturbed', { disturbed: true, endedAtMs: 8 }),
    named('quick', { scale: 'quick', repeats: 20, endedAtMs: 9 }),
    named('provisional', { provisional: true, repeats: 4, endedAtMs: 10 }),
    named('provisional and quick', { provisional: true, repeats: 4, scale: 'quick', endedAtMs: 11 }),
    named('unmeasured', { verdict: 'inconclusive', clauses: unmeasured!.clauses, endedAtMs: 12 }),
  ];
  const runs = (verdicts: readonly StoredVerdict[]) => verdicts.map(({ runId }) => runId);
  expect(runs(bestFirst.toReversed().toSorted(byEvidence))).toEqual(runs(bestFirst));
});
