/** Recordings of real runs: one is interrupted and resumed, and none is repeated while the code is the same. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pointKey, type Tick } from '@shardlab/contract';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runCommand } from '../src/cli/commands.ts';
import { codeFingerprint } from '../src/recorded/code-fingerprint.ts';
import { estimateRecordingMs } from '../src/recorded/estimate-recording.ts';
import { listRecorded, pointsOf, readRecorded, writeRecorded } from '../src/recorded/recorded-run.ts';
import { readScenarioFolder } from '../src/scenario/scenario-folder.ts';
import { smallScenario } from './support.ts';

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'shardlab-record-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a recording resumes where it was stopped, and shares trials between scenarios of one workload', async () => {
  const folder = makeFolder();
  const paths = ['one', 'two'].map((id) => {
    const path = join(folder, `${id}.json`);
    const sweep = { instances: [1], threads: [1, 2] };
    writeFileSync(path, JSON.stringify(smallScenario({ id, claims: ['A3'], systems: ['sharded'], sweep })));
    return path;
  });
  let output = '';
  const write = (chunk: unknown) => {
    output += String(chunk);
    // The first trial is in the journal as soon as the second one begins.
    if (output.includes('1/2') && !output.includes('Stopped')) process.emit('SIGINT');
    return true;
  };
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation(write);
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation(write);
  onTestFinished(() => void [stdout, stderr].map((spy) => spy.mockRestore()));
  const into = join(folder, 'recorded');
  const record = () => runCommand(['record', ...paths, '--into', into, '--data-dir', join(folder, 'data')]);

  expect(await record()).toBe(130);
  expect(output).toContain('one: 2 of 2 trials to run');
  expect(await listRecorded(into)).toEqual([]);

  stderr.mockImplementation(() => true);
  output = '';
  expect(await record()).toBe(0);
  expect(output).toContain('one: 1 of 2 trials to run');
  expect(output).toContain('two: 0 of 2 trials to run');
  const [one, two] = [(await readRecorded('one', into))!, (await readRecorded('two', into))!];
  expect(one).toMatchObject({ code: codeFingerprint(), run: { status: 'done', scale: 'full', points: [] } });
  expect(one.run).toMatchObject({ id: 'recorded-one', recordedOn: expect.stringContaining(' × ') });
  expect(pointsOf(one)).toHaveLength(2);
  expect(pointsOf(two)).toEqual(pointsOf(one));
  expect(two.run.claims.map(({ id }) => id)).toEqual(['A3']);
  expect((await listRecorded(into)).map(({ run }) => run)).toEqual([one.run, two.run]);
  const best = pointsOf(one).toSorted(
    (a, b) => b.figures.dequeuePerSec!.value - a.figures.dequeuePerSec!.value,
  )[0]!;
  const ticks = JSON.parse(one.ticksJson) as Tick[];
  expect(new Set(ticks.map(pointKey))).toEqual(new Set([pointKey(best)]));

  output = '';
  expect(await record()).toBe(0);
  expect(output).toBe('one: recorded already by this code\ntwo: recorded already by this code\n');

  // The recording gets a verdict that its judges would not give, as if they had changed since.
  const claims = two.run.claims.map((claim) => ({
    ...claim,
    verdict: 'does-not-hold' as const,
    reason: 'of yesterday',
  }));
  writeRecorded({ code: two.code, run: { ...two.run, points: pointsOf(two), claims }, ticks }, into);
  output = '';
  expect(await record()).toBe(0);
  expect(output).toContain('two: recorded already by this code, judged anew');
  expect(await readRecorded('two', into)).toEqual({ ...two, ticksJson: one.ticksJson });

  writeRecorded({ code: 'of-then', run: { ...two.run, points: pointsOf(two), claims }, ticks }, into);
  output = '';
  expect(await runCommand(['record', ...paths, '--into', into, '--judge-only'])).toBe(0);
  expect(output).toBe('one: verdicts as before\ntwo: judged anew\n');
  expect(await readRecorded('two', into)).toEqual({ ...two, code: 'of-then', ticksJson: one.ticksJson });

  writeFileSync(paths[1]!, readFileSync(paths[1]!, 'utf8').replace('Does it run?', 'Does it?'));
  expect(await record()).toBe(0);
  expect((await readRecorded('two', into))!.run.scenario.question).toBe('Does it?');
});

test('runs of any size are listed, from the start of their files', async () => {
  const into = makeFolder();
  const { run } = (await readRecorded('first-look'))!;
  const question = randomBytes(100_000).toString('hex');
  writeRecorded(
    { code: 'of-then', run: { ...run, scenario: { ...run.scenario, question } }, ticks: [] },
    into,
  );
  const [listed, ...others] = await listRecorded(into);
  expect(others).toEqual([]);
  expect(listed!.run.scenario.question).toBe(question);
  const { code, run: whole } = (await readRecorded('first-look', into))!;
  expect(listed).toEqual({ code, run: whole });
});

test('the scenarios of the white paper and of the Redis benchmark are planned for less than three hours', async () => {
  const scenarios = (await readScenarioFolder()).flatMap(({ parsed }) =>
    parsed.ok ? [parsed.scenario] : [],
  );
  const documents = scenarios.filter(({ study }) => study === 'white-paper' || study === 'redis-benchmark');
  expect(documents.length).toBeGreaterThan(20);
  const hours = estimateRecordingMs(documents, 'full') / 3_600_000;
  expect(hours).toBeLessThan(3);
  const apart = documents.reduce((sum, scenario) => sum + estimateRecordingMs([scenario], 'full'), 0);
  expect(hours).toBeLessThan(0.9 * (apart / 3_600_000));
});
