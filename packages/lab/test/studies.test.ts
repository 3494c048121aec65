import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WaitRecorder, waitEvents } from '@shardlab/engine';
import {
  bundledStudies,
  bundledStudyFolder,
  parseScenario,
  readScenarioFolder,
  readScenarios,
  StudyRegistry,
  scenarioSchemaText,
  startRun,
} from '@shardlab/lab';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { claimsCommand } from '../src/cli/claims.ts';
import { smallScenario } from './support.ts';
import { givenBack, toyBox } from './toy-studies/toy/study.ts';

const folder = new URL('./toy-studies/', import.meta.url);
const studies = await StudyRegistry.load([bundledStudyFolder, folder]);
const { studies: toys } = await StudyRegistry.load([folder]);
const toyScenarios = fileURLToPath(new URL('./toy-studies/toy/scenarios/', import.meta.url));
const scenario = smallScenario({
  study: 'toy',
  claims: ['Z1'],
  systems: ['sharded'],
  sweep: { instances: [1], threads: [1] },
});

describe('a study in a folder of its own', () => {
  it('has claims that only its own scenarios may name', () => {
    expect(parseScenario(scenario, studies)).toMatchObject({ ok: true });
    expect(parseScenario(scenario)).toMatchObject({ faults: [{ path: '/study' }, { path: '/claims/0' }] });
    const mixed = parseScenario({ ...scenario, study: 'white-paper' }, studies);
    expect(mixed).toMatchObject({
      faults: [{ message: 'Z1 is a claim of the study "toy", but the scenario belongs to "white-paper"' }],
    });
  });

  it('has runs that are measured and judged like all others', async () => {
    const run = await startRun({ scenario, scale: 'full', studies });
    expect(run).toMatchObject({ status: 'done', claims: [{ id: 'Z1', verdict: 'holds' }] });
  });

  it('is described to clients', () => {
    expect(studies.describe().studies.find(({ id }) => id === 'toy')).toMatchObject({
      document: { title: 'A toy document' },
      claims: ['Z1', 'Z2'],
      notMeasured: [{ statement: 'It is a joy' }],
    });
  });

  it('may have a program and scenarios of its own', async () => {
    const [file] = await readScenarioFolder(toyScenarios, studies);
    if (file?.parsed.ok !== true) throw new Error('the scenario of the toy study has faults');
    const { scenario: turns } = file.parsed;
    expect(parseScenario(turns)).toMatchObject({
      faults: expect.arrayContaining([expect.objectContaining({ path: '/program' })]),
    });
    const run = await startRun({ scenario: turns, scale: 'full', studies });
    expect(run).toMatchObject({ status: 'done', error: null });
    expect(run.points.map(({ figures }) => figures.turnsPerChild?.value)).toEqual([120, 60, 30]);
    expect(run.claims.map(({ id, value }) => [id, value])).toEqual([
      ['Z1', 1],
      ['Z2', 0.25],
    ]);
  });

  it('has its scenarios listed with those of the repository, if its folder is loaded', async () => {
    const [all, repository] = await Promise.all([readScenarios(studies), readScenarios()]);
    const added = all.filter(({ file }) => repository.every((each) => each.file !== file));
    expect(added).toMatchObject([{ file: 'toy/scenarios/toy-turns.json', parsed: { ok: true } }]);
    expect(repository.map(({ file }) => file)).toContain('scenarios/white-paper-figure-3.json');
  });

  it('has its program in the schema of scenarios that editors use', () => {
    type Schema = { anyOf: { properties: Record<string, { const?: string; properties: object }> }[] };
    const { anyOf } = JSON.parse(scenarioSchemaText(studies.programs)) as Schema;
    const ofToy = anyOf.find(({ properties }) => properties.program?.const === 'toy-box');
    expect(Object.keys(ofToy!.properties.sweep!.properties)).toEqual(['children']);
  });

  it('has its claims in the list of the command line, with the scenario that tests them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    let out = '';
    const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      out += text;
      return true;
    });
    onTestFinished(() => write.mockRestore());
    expect(await claimsCommand({ 'data-dir': folder }, { studies })).toBe(0);
    expect(out).toMatch(/^Z2 NOT MEASURED YET\n {3}Children share\..*\n.*\n {3}Run toy-turns to test it$/m);
    expect(out).toContain(
      'Statements of "A toy document" that no scenario measures yet:\n   It is a joy: joy has no unit',
    );
  });

  it('has a chart for its runs, of a program and a figure that its scenarios have', async () => {
    const { studies: told, programs } = bundledStudies.describe();
    const files = await readScenarioFolder();
    const scenarios = files.flatMap(({ parsed }) => (parsed.ok ? [parsed.scenario] : []));
    for (const { id, heroes } of told)
      for (const { program, figure } of heroes) {
        const own = scenarios.filter((each) => each.study === id);
        expect(own.some((each) => each.program === (program ?? each.program))).toBe(true);
        expect(own.some((each) => each.figure === (figure ?? each.figure))).toBe(true);
      }
    const chartOf = (study: string) => told.find(({ id }) => id === study)!.heroes.map(({ chart }) => chart);
    expect([chartOf('listen'), chartOf('xa'), chartOf('peers')]).toEqual([['lanes'], ['sequence'], []]);
    expect(programs.filter(({ hasTicks }) => hasTicks).map(({ id }) => id)).toEqual([
      'queue',
      'topic',
      'run-to-completion',
      'flow-control',
    ]);
  });

  it('may register wait events and counters, which every recorder then has', () => {
    const recorder = new WaitRecorder({ clock: { monotonicMs: () => 0 } });
    recorder.record(toyBox, 7);
    recorder.add(givenBack, 2);
    expect(recorder.snapshot().find(({ event }) => event === 'toy box')).toMatchObject({
      class: 'concurrency',
      emulated: false,
      totalMs: 7,
    });
    expect(recorder.counters()).toMatchObject({ toys: 2 });
    expect(waitEvents().map(({ name }) => name)).toContain('toy box');
  });

  it('must have ids that no other study has', () => {
    expect(() => new StudyRegistry([...toys, ...toys])).toThrow('two studies are named toy');
    const other = { ...toys[0]!, id: 'other' };
    expect(() => new StudyRegistry([...toys, other])).toThrow('two programs are named toy-box');
    const withoutProgram = { ...other, programs: [] };
    expect(() => new StudyRegistry([...toys, withoutProgram])).toThrow('other and toy both have a claim Z1');
  });
});
