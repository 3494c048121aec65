import { WaitRecorder, waitEvents } from '@shardlab/engine';
import { bundledStudies, parseScenario, readScenarioFolder, StudyRegistry, startRun } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import { loadStudies } from '../src/studies/load-studies.ts';
import { smallScenario } from './support.ts';
import { givenBack, toyBox } from './toy-studies/toy/study.ts';

const toys = await loadStudies(new URL('./toy-studies/', import.meta.url));
const studies = new StudyRegistry([...bundledStudies.studies, ...toys]);
const scenario = smallScenario({
  study: 'toy',
  claims: ['Z1'],
  systems: ['sharded'],
  sweep: { instances: [1], threads: [1] },
});

describe('a study is a folder', () => {
  it('whose claims scenarios may name, and only with it', () => {
    expect(parseScenario(scenario, studies)).toMatchObject({ ok: true });
    expect(parseScenario(scenario)).toMatchObject({ faults: [{ path: '/study' }, { path: '/claims/0' }] });
    const mixed = parseScenario({ ...scenario, study: 'white-paper' }, studies);
    expect(mixed).toMatchObject({
      faults: [{ message: 'Z1 is a claim of the study "toy", but the scenario belongs to "white-paper"' }],
    });
  });

  it('whose runs are measured and judged like all others', async () => {
    const run = await startRun({ scenario, scale: 'full', studies });
    expect(run).toMatchObject({ status: 'done', claims: [{ id: 'Z1', verdict: 'holds' }] });
  });

  it('which clients are told', () => {
    expect(studies.describe().studies.find(({ id }) => id === 'toy')).toMatchObject({
      document: { title: 'A toy document' },
      claims: ['Z1'],
      notMeasured: [{ statement: 'It is a joy' }],
    });
  });

  it('which names the chart that its runs are about, of programs and figures that its scenarios have', async () => {
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
    expect(programs.filter(({ hasTicks }) => hasTicks).map(({ id }) => id)).toEqual(['queue', 'topic']);
  });

  it('which registers its own wait events and counters, so that every recorder shows them', () => {
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

  it('with ids that no other study has', () => {
    expect(() => new StudyRegistry([...toys, ...toys])).toThrow('two studies are named toy');
    const other = { ...toys[0]!, id: 'other' };
    expect(() => new StudyRegistry([...toys, other])).toThrow('other and toy both have a claim Z1');
  });
});
