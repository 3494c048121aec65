/** The command of a study: it runs scenarios with the installed systems, writes a report, and repeats nothing that was measured. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Run, Scenario } from '@shardlab/contract';
import { bundledStudies, StudyRegistry } from '@shardlab/lab';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { studyCommand } from '../src/cli/study.ts';
import { writeRecorded } from '../src/recorded/recorded-run.ts';
import { withoutMissing } from '../src/run/without-missing.ts';

const scenario: Scenario = {
  version: 2,
  id: 'small-loop',
  title: 'A small closed loop',
  question: 'Does it run?',
  study: 'peers',
  claims: ['P8'],
  seed: 7,
  program: 'closed-loop',
  systems: ['unsharded', 'plainjob'],
  parameters: { payloadBytes: 64, operationsPerTransaction: 10, dequeuers: 1, enqueuers: 1 },
  sweep: {},
  phases: { warmupMs: 20, measureMs: 100, drainMs: 2_000 },
  repeats: 1,
};
const raw: Scenario = {
  ...scenario,
  id: 'small-raw',
  title: 'SQLite alone',
  claims: [],
  program: 'raw-limit',
  systems: ['sqlite'],
  parameters: { payloadBytes: 64, operationsPerTransaction: 10, cycle: 'insert' },
};

/** This folder is on a disk. The temporary folder of tests may be in memory, where the command refuses to measure. */
let folder: string;
const inFolder = (name: string) => join(folder, name);
let told: { out: string; err: string };
beforeEach(() => {
  const parent = fileURLToPath(new URL('../../../node_modules/.shardlab/', import.meta.url));
  mkdirSync(parent, { recursive: true });
  folder = mkdtempSync(join(parent, 'study-'));
  mkdirSync(inFolder('scenarios'));
  for (const each of [scenario, raw])
    writeFileSync(inFolder(`scenarios/${each.id}.json`), JSON.stringify(each));
  told = { out: '', err: '' };
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    told.out += text;
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told.err += text;
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const flags = () => ({
  quick: false,
  require: [],
  resume: false,
  recorded: false,
  'data-dir': inFolder('data'),
  json: inFolder('runs'),
});

const folders = () => ({ scenarios: inFolder('scenarios'), recorded: inFolder('recorded') });

describe('the command of a study', () => {
  it('runs its scenarios, writes a report into its section, and repeats nothing that was measured', async () => {
    const report = inFolder('report.md');
    writeFileSync(report, '# Results\n\n<!-- study peers -->\n<!-- /study peers -->\n\nThe end.\n');
    const all = { ...flags(), write: report, resume: true };
    expect(await studyCommand('peers', all, folders())).toBe(0);
    const written = readFileSync(report, 'utf8');
    expect(written).toMatch(/^# Results\n\n<!-- study peers -->[\s\S]*<!-- \/study peers -->\n\nThe end.\n$/);
    expect(written).toMatch(/\| P8 \| The unsharded queue is at least as fast as plainjob \|/);
    expect(written).toContain('### A small closed loop');
    expect(written).toMatch(/\n\| plainjob, synced \| /);
    expect(written).toMatch(/\n\| SQLite \| /);

    const figures = () =>
      ['small-loop', 'small-raw'].map((id) => {
        const { points } = JSON.parse(readFileSync(inFolder(`runs/${id}.json`), 'utf8')) as Run;
        return points.map((point) => point.figures);
      });
    const before = figures();
    expect(await studyCommand('peers', all, folders())).toBe(0);
    expect(figures()).toEqual(before);
    const [journal] = readdirSync(inFolder('data/study'));
    const trials = () =>
      readFileSync(inFolder(`data/study/${journal}`), 'utf8')
        .trim()
        .split('\n');
    expect(trials()).toHaveLength(3);
    const first = trials()[0];
    expect(await studyCommand('peers', { ...all, resume: false }, folders())).toBe(0);
    expect(trials()).toHaveLength(3);
    expect(trials()[0]).not.toBe(first);

    // What is recorded is reported without being measured, and what is not is named.
    const measured = JSON.parse(readFileSync(inFolder('runs/small-loop.json'), 'utf8')) as Run;
    writeRecorded({ code: 'of before', run: measured, ticks: [] }, inFolder('recorded'));
    rmSync(inFolder('data'), { recursive: true });
    expect(await studyCommand('peers', { ...all, recorded: true }, folders())).toBe(0);
    const recorded = readFileSync(report, 'utf8');
    expect(recorded).toMatch(/### A small closed loop\n\nDoes it run\? .*; recorded on \d+ × /);
    expect(recorded).toContain('- SQLite alone: not recorded');
    expect(existsSync(inFolder('data'))).toBe(false);
  }, 120_000);

  it('measures nothing if the report cannot be written', async () => {
    const report = inFolder('report.md');
    writeFileSync(report, '# Results\n');
    expect(await studyCommand('peers', { ...flags(), write: report }, folders())).toBe(2);
    expect(told.err).toContain('has no section between "<!-- study peers -->"');
    const missing = { ...flags(), write: inFolder('none.md') };
    expect(await studyCommand('peers', missing, folders())).toBe(2);
    expect(told.out).toBe('');
  });

  it('measures nothing if it is to require a claim that none of its scenarios tests', async () => {
    expect(await studyCommand('peers', { ...flags(), require: ['P9'] }, folders())).toBe(2);
    expect(told.err).toContain('--require P9: none of the scenarios tests this claim; small-loop tests P8');
    expect(told.out).toBe('');
  });

  it('lists the studies', async () => {
    expect(await studyCommand('peer', flags())).toBe(2);
    const ids = bundledStudies.studies.map(({ id }) => id);
    expect(ids).toContain('white-paper');
    expect(told.err).toContain(`the studies are ${ids.join(', ')}`);
  });
});

describe('a scenario', () => {
  const lacking = new StudyRegistry(
    bundledStudies.studies.map((study) => ({
      ...study,
      programs: (study.programs ?? []).map((program) => ({
        ...program,
        missing: (systems: readonly string[]) =>
          systems.filter((each) => each !== 'unsharded').map((each) => `${each} needs luck`),
      })),
    })),
  );

  it('is run with the installed systems, and the others are named', () => {
    expect(withoutMissing(scenario, 'full', '', lacking)).toMatchObject({
      scenario: { systems: ['unsharded'] },
      absent: ['plainjob needs luck'],
    });
    const quick = { ...scenario, quick: { systems: ['unsharded', 'null'] } };
    expect(withoutMissing(quick, 'quick', '', lacking)).toMatchObject({
      scenario: { systems: ['unsharded', 'plainjob'], quick: { systems: ['unsharded'] } },
      absent: ['null needs luck'],
    });
  });

  it('is left out if no system is installed, and unchanged if all are', () => {
    const one = { ...scenario, systems: ['plainjob'] };
    expect(withoutMissing(one, 'full', '', lacking)).toMatchObject({ scenario: null });
    expect(withoutMissing(scenario, 'full', '').scenario).toBe(scenario);
  });
});
