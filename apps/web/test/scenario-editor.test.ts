import { readFileSync } from 'node:fs';
import type { ProgramInfo, Scenario } from '@shardlab/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import schemaFile from '../../../scenarios/scenario.schema.json' with { type: 'json' };
import { lineAt } from '../src/model/json-excerpt.ts';
import { loadInWords } from '../src/model/plan-load.ts';
import {
  changesOf,
  copyOf,
  formatDraft,
  type JsonObject,
  readDraft,
  valueAt,
  withParameter,
  withValue,
} from '../src/model/scenario-draft.ts';
import {
  faultInWords,
  faultsUnder,
  nameCompletions,
  parameterFields,
  parameterMode,
  type SchemaNode,
  schemaAt,
  schemaOfProgram,
  systemChoices,
  valueCompletions,
} from '../src/model/scenario-form.ts';
import { readValues, valuesOfSteps } from '../src/model/sweep-values.ts';
import { layoutPlan, planInWords, plannedTopology } from '../src/model/topology-plan.ts';
import { program as described } from './fixtures/program.ts';

const text = readFileSync(new URL('../../../scenarios/first-look.json', import.meta.url), 'utf8');
const scenario = JSON.parse(text) as Scenario;
const draft = scenario as unknown as JsonObject;
const schema = schemaFile as unknown as SchemaNode;
const queue = schemaOfProgram(schema, 'queue')!;
const program = described as ProgramInfo;

describe('the load of a run in words', () => {
  const load = { sessionsMax: 64, processesMax: 4, isPaced: false, coresBusyMax: 2, cores: 2 };
  test.each([
    [load, 'up to 64 sessions in 4 processes, as fast as they can: both cores may be full'],
    [
      { ...load, processesMax: 1, cores: 8 },
      'up to 64 sessions in 1 process, as fast as they can: up to 2 of 8 cores may be full',
    ],
    [
      { ...load, coresBusyMax: 8, cores: 8 },
      'up to 64 sessions in 4 processes, as fast as they can: all 8 cores may be full',
    ],
    [
      { ...load, isPaced: true, sessionsMax: 1 },
      'up to 1 session in 4 processes, at a given rate, which may leave cores idle',
    ],
  ])('%o', (given, words) => expect(loadInWords(given)).toBe(words));
});

describe('a draft', () => {
  test('is written as the files of the repository are', () => {
    expect(`${formatDraft(draft)}\n`).toBe(text);
  });

  test('keeps values of every type', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as JsonObject;
        expect(readDraft(formatDraft(plain))).toEqual(plain);
      }),
    );
  });

  test('cannot be read while its text is incomplete', () => {
    expect(readDraft('{"version": 2')).toBeNull();
    expect(readDraft('[]')).toBeNull();
  });

  test('changes at a path, and only there', () => {
    const changed = withValue(draft, ['phases', 'measureMs'], 700);
    expect(changesOf(draft, changed)).toEqual([{ path: 'phases.measureMs', before: '2000', after: '700' }]);
    expect(valueAt(draft, ['phases', 'measureMs'])).toBe(2000);
  });

  test('has a parameter either in the sweep or fixed', () => {
    const single = withParameter(draft, 'threads', 8);
    expect(valueAt(single, ['parameters', 'threads'])).toBe(8);
    expect(valueAt(single, ['sweep', 'threads'])).toBeUndefined();
    expect(valueAt(single, ['quick', 'sweep', 'threads'])).toBeUndefined();
    expect(valueAt(single, ['quick', 'sweep', 'instances'])).toEqual([1, 2]);
    expect(parameterMode(single, 'threads')).toBe('single');
    const swept = withParameter(single, 'payloadBytes', [64, 512]);
    expect(valueAt(swept, ['parameters', 'payloadBytes'])).toBeUndefined();
    expect(parameterMode(swept, 'payloadBytes')).toBe('sweep');
    expect(parameterMode(withParameter(swept, 'payloadBytes', undefined), 'payloadBytes')).toBe('default');
  });

  test('that copies a built-in scenario has a name of its own', () => {
    const first = copyOf(scenario, ['first-look']);
    expect(first).toMatchObject({ id: 'first-look-copy', title: `${scenario.title} (copy)` });
    expect(first).not.toHaveProperty('$schema');
    expect(copyOf(scenario, ['first-look-copy'])).toMatchObject({ id: 'first-look-copy-2' });
    const long = copyOf({ ...scenario, id: 'x'.repeat(64), title: 'T'.repeat(120) }, []);
    expect(String(long.id).length).toBeLessThanOrEqual(64);
    expect(String(long.title).length).toBeLessThanOrEqual(120);
  });

  test('is compared with its origin by whole lists', () => {
    const changed = withParameter(draft, 'threads', [1, 8]);
    expect(changesOf(draft, changed)).toEqual([{ path: 'sweep.threads', before: '1, 4, 16', after: '1, 8' }]);
    expect(changesOf(draft, { ...draft, kills: false })).toEqual([
      { path: 'kills', before: 'none', after: 'false' },
    ]);
  });
});

describe('values of a sweep', () => {
  test('are typed with commas or spaces; a value that is not a number stays a text', () => {
    expect(readValues(' 1, 2 4;8,')).toEqual([1, 2, 4, 8]);
    expect(readValues('1, x')).toEqual([1, 'x']);
    expect(readValues('')).toEqual([]);
  });

  test('are generated from a start, an end and a step; the end is included only if a step reaches it', () => {
    expect(valuesOfSteps({ from: 1, to: 16, by: 2, kind: 'times' })).toEqual([1, 2, 4, 8, 16]);
    expect(valuesOfSteps({ from: 0, to: 1, by: 0.1, kind: 'plus' })).toHaveLength(11);
    expect(valuesOfSteps({ from: 0, to: 1, by: 0.1, kind: 'plus' })).toContain(0.3);
    expect(valuesOfSteps({ from: 1, to: 10, by: 4, kind: 'plus' })).toEqual([1, 5, 9]);
  });

  test.each([
    [{ from: 1, to: 100, by: 1, kind: 'plus' }, /more than 16/],
    [{ from: 1, to: 4, by: 0, kind: 'plus' }, /more than 0/],
    [{ from: 0, to: 4, by: 2, kind: 'times' }, /factor/],
    [{ from: 1, to: 4, by: 1, kind: 'times' }, /factor/],
    [{ from: 4, to: 1, by: 1, kind: 'plus' }, /below/],
    [{ from: Number.NaN, to: 1, by: 1, kind: 'plus' }, /numbers/],
  ] as const)('%j are none: %s', (steps, why) => {
    expect(valuesOfSteps(steps)).toMatch(why);
  });
});

describe('the form', () => {
  test('has a field for each parameter, with bounds or choices in words', () => {
    const fields = parameterFields(queue, program);
    expect(fields.map(({ name }) => name)).toEqual(program.parameters.map(({ name }) => name).toReversed());
    expect(fields[0]).toMatchObject({ title: 'Threads (n enqueuers and n dequeuers)', bounds: '1 to 256' });
    const durability = fields.find(({ name }) => name === 'durability')!;
    expect(durability.choices).toContainEqual({ value: 'memory', label: 'nonpersistent' });
  });

  test('offers the systems of the program', () => {
    expect(systemChoices(queue).map(({ value }) => value)).toEqual(scenario.systems);
  });

  test('shows a fault at its field, also one of an item of a list', () => {
    const faults = [
      { path: '/sweep/threads/1', message: 'Must be at most 256, not 1000' },
      { path: '/sweep/threadsy', message: 'Unknown field' },
    ];
    expect(faultsUnder(faults, '/parameters/threads', '/sweep/threads')).toEqual([faults[0]]);
    expect(faultInWords(faults[0]!, program.parameters)).toBe(
      'threads (n enqueuers and n dequeuers): Must be at most 256, not 1000',
    );
    expect(faultInWords({ path: '', message: 'Not JSON' }, [])).toBe('Not JSON');
    expect(lineAt(text, faults[0]!.path)).toBe(
      text.split('\n').findIndex((line) => line.includes('"threads"')) + 1,
    );
  });
});

describe('completion', () => {
  test('offers names that are missing, required ones first', () => {
    const top = nameCompletions(schemaAt(queue, []), ['version', 'id']);
    expect(top.map(({ label }) => label)).not.toContain('"version"');
    expect(top.findIndex(({ isRequired }) => !isRequired)).toBe(
      top.filter(({ isRequired }) => isRequired).length,
    );
    const parameters = nameCompletions(schemaAt(queue, ['parameters']), []);
    expect(parameters.find(({ label }) => label === '"payloadBytes"')?.detail).toMatch(/checksum/);
    expect(schemaAt(queue, ['constructor'])).toBeUndefined();
  });

  test('offers the values that a field names, also in a list', () => {
    const labels = (path: (string | number)[]) =>
      valueCompletions(schemaAt(queue, path)).map(({ label }) => label);
    expect(labels(['parameters', 'durability'])).toEqual(['"durable"', '"relaxed"', '"memory"']);
    expect(labels(['systems', 0])).toContain('"sharded"');
    expect(labels(['kills'])).toEqual(['true', 'false']);
    expect(labels(['title'])).toEqual([]);
  });
});

describe('the topology of a draft', () => {
  test('is that of its largest point, with the sessions on each instance', () => {
    const plan = plannedTopology(withParameter(draft, 'threads', 5), 'sharded')!;
    expect(planInWords(plan)).toBe('2 instances, 5 enqueuers and 5 dequeuers');
    const { cards, table } = layoutPlan(plan, 800);
    expect(cards.map(({ words }) => words?.in)).toEqual(['3 enqueuers', '2 enqueuers']);
    const skewed = plannedTopology(
      withParameter(withParameter(draft, 'threads', 16), 'placement', 'skewed'),
      'sharded',
    )!;
    expect(layoutPlan(skewed, 800).cards.map(({ words }) => words?.in)).toEqual([
      '12 enqueuers',
      '4 enqueuers',
    ]);
    expect(table).toBeNull();
    expect(layoutPlan({ ...plan, system: 'unsharded' }, 800).table).not.toBeNull();
  });

  test('has a dequeuer for each subscriber, and does not exist without instances', () => {
    const topic = withParameter(draft, 'subscribers', [2, 10]);
    expect(plannedTopology(topic, 'sharded')).toMatchObject({ enqueuers: 16, dequeuers: 160 });
    expect(plannedTopology({}, 'sharded')).toBeNull();
    expect(plannedTopology(withParameter(draft, 'instances', [1e9]), 'sharded')!.instances).toBe(16);
  });
});
