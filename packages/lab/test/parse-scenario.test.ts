import { scenarioLimits } from '@shardlab/contract';
import { parseScenario, type ScenarioProblem } from '@shardlab/lab';
import { describe, expect, test } from 'vitest';
import { smallScenario } from './support.ts';

/** A good scenario with one value replaced, or removed if it is undefined; the path is a list of keys. */
function withValue(path: (string | number)[], value: unknown): unknown {
  const scenario = JSON.parse(JSON.stringify(smallScenario())) as Record<string, unknown>;
  let at = scenario as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) {
    at[key] ??= {};
    at = at[key] as Record<string | number, unknown>;
  }
  at[path.at(-1)!] = value;
  return scenario;
}

function faultsOf(input: unknown): ScenarioProblem[] {
  const parsed = parseScenario(input);
  return parsed.ok ? [] : parsed.faults;
}

describe('a valid scenario', () => {
  test('is returned as it is, from text and from a value', () => {
    const scenario = smallScenario();
    expect(parseScenario(JSON.stringify(scenario))).toEqual({ ok: true, scenario });
    expect(parseScenario(scenario)).toEqual({ ok: true, scenario });
  });

  test('may begin with a byte order mark', () => {
    const scenario = smallScenario();
    expect(parseScenario(`\ufeff${JSON.stringify(scenario)}`)).toEqual({ ok: true, scenario });
  });
});

describe('a text', () => {
  test('with a field that is given twice is refused with both places', () => {
    const text = JSON.stringify(smallScenario(), null, 2).replace('"seed":', '"repeats": 7,\n  "seed":');
    const parsed = parseScenario(text);
    if (parsed.ok) throw new Error('accepted');
    const { places } = parsed.error.details as { places: { line: number; column: number }[] };
    const lines = text.split('\n');
    expect(places).toHaveLength(2);
    for (const { line, column } of places) expect(lines[line - 1]!.slice(column - 1)).toMatch(/^"repeats":/);
    const [first, second] = places.map(({ line, column }) => `line ${line}, column ${column}`);
    const message = `The field is given twice: at ${first}, and again at ${second}`;
    expect(parsed.faults).toEqual([{ path: '/repeats', message }]);
    expect(parsed.error.message).toBe(`The scenario has a fault: /repeats: ${message}`);
  });

  test('with invisible characters is refused in sentences without them', () => {
    const scenario = smallScenario();
    const invisible = '\ufeff\u200b\u202e\u0007';
    for (const input of [
      `${invisible}${JSON.stringify(scenario)}`,
      JSON.stringify({ ...scenario, [`se${invisible}ed`]: 1, seed: invisible, program: invisible }),
      JSON.stringify(scenario).replace(
        '"seed":',
        `"${invisible.slice(0, 3)}":1,"${invisible.slice(0, 3)}":2,"seed":`,
      ),
    ]) {
      const parsed = parseScenario(input);
      if (parsed.ok) throw new Error('accepted');
      for (const text of [parsed.error.message, ...parsed.faults.map(({ message }) => message)])
        expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(parsed.error.message).toContain('\\u200b');
    }
  });
});

describe('a single fault is reported at its path, in a sentence', () => {
  test.each<[string, unknown, string, RegExp]>([
    [
      'a thread count of 10⁹',
      withValue(['sweep', 'threads'], [1, 10 ** 9]),
      '/sweep/threads/1',
      /at most 256, not 1000000000/,
    ],
    [
      'a thread count as text',
      withValue(['sweep', 'threads'], ['4']),
      '/sweep/threads/0',
      /Must be an integer, not "4"/,
    ],
    ['half a thread', withValue(['sweep', 'threads'], [1.5]), '/sweep/threads/0', /Must be an integer/],
    ['no instance', withValue(['sweep', 'instances'], [0]), '/sweep/instances/0', /at least 1, not 0/],
    ['an empty axis', withValue(['sweep', 'threads'], []), '/sweep/threads', /at least 1 item/],
    [
      'a repeated value',
      withValue(['sweep', 'threads'], [1, 2, 1]),
      '/sweep/threads/2',
      /Repeats the value at index 0/,
    ],
    [
      'an unknown queue',
      withValue(['systems'], ['shrded']),
      '/systems/0',
      /one of "sharded", "unsharded", "unsharded-grouped", not "shrded"/,
    ],
    [
      'a misspelt field',
      withValue(['sweep', 'thraeds'], [1]),
      '/sweep/thraeds',
      /Unknown field "thraeds"; did you mean "threads"\?/,
    ],
    [
      'a field of no likeness',
      withValue(['colour'], 1),
      '/colour',
      /Unknown field "colour"; the fields here are/,
    ],
    [
      'fewer values for a system that is not measured',
      withValue(['sweepOf', 'unsharded-grouped'], { threads: [1] }),
      '/sweepOf/unsharded-grouped',
      /is not one of the systems/,
    ],
    [
      'fewer values for an unknown system',
      withValue(['sweepOf', 'shrded'], { threads: [1] }),
      '/sweepOf/shrded',
      /did you mean "sharded"\?/,
    ],
    [
      'fewer values of an axis that the sweep has not',
      withValue(['sweepOf', 'sharded'], { payloadBytes: [64] }),
      '/sweepOf/sharded/payloadBytes',
      /The sweep does not have this axis/,
    ],
    [
      'a value for one system that the sweep has not',
      withValue(['sweepOf', 'sharded'], { threads: [1, 3] }),
      '/sweepOf/sharded/threads/1',
      /Must be one of the values of the sweep, 1, 2, not 3/,
    ],
    ['a missing field', withValue(['seed'], undefined), '/seed', /The field "seed" is missing/],
    ['another version', withValue(['version'], 3), '/version', /Must be 2, not 3/],
    [
      'an unknown program',
      withValue(['program'], 'queues'),
      '/program',
      /one of "queue", "topic", .*not "queues"/,
    ],
    [
      'a parameter that is nowhere',
      withValue(['parameters', 'durability'], undefined),
      '/parameters/durability',
      /Is missing: give "durability" here, or several values of it in "sweep"/,
    ],
    [
      'a parameter in two places',
      withValue(['parameters', 'threads'], 1),
      '/sweep/threads',
      /Is in "parameters" too/,
    ],
    [
      'a payload over its limit',
      withValue(['parameters', 'payloadBytes'], 2 ** 31),
      '/parameters/payloadBytes',
      /at most 1,073,741,824/,
    ],
    [
      'an id with capitals',
      withValue(['id'], 'Figure 3'),
      '/id',
      /^Must be lower-case words and dashes.* not "Figure 3"/,
    ],
    ['an empty title', withValue(['title'], ''), '/title', /Must not be empty/],
    ['null for an object', withValue(['phases'], null), '/phases', /Must be an object, not null/],
    [
      'a claim without judge',
      withValue(['claims'], ['A3', 'B7']),
      '/claims/1',
      /There is no claim "B7"; the claims are A1/,
    ],
    [
      'a bound under one transaction',
      withValue(['parameters', 'operationsPerTransaction'], 600),
      '/parameters/backlogMax',
      /at least 600, the operations per transaction/,
    ],
    [
      'quick past the full range',
      withValue(['quick', 'sweep'], { threads: [1, 64] }),
      '/quick/sweep/threads/1',
      /range of the full sweep, 1 to 2, not 64/,
    ],
    [
      'a nonpersistent table',
      withValue(['parameters', 'durability'], 'memory'),
      '/parameters/durability',
      /must be "durable" or "relaxed"/,
    ],
    [
      'a slow client',
      withValue(['sweep', 'roundTripMs'], [500]),
      '/sweep/roundTripMs/0',
      /takes at least 2,000 ms, longer than .* \(100 ms\)/,
    ],
  ])('%s', (_name, input, path, message) => {
    const faults = faultsOf(input);
    expect(faults.map((fault) => fault.path)).toEqual([path]);
    expect(faults[0]!.message).toMatch(message);
  });

  test('in a document that is not an object', () => {
    for (const input of [null, 7, [], '"text"', 'null']) {
      expect(faultsOf(input)).toEqual([{ path: '', message: expect.stringMatching(/^Must be an object/) }]);
    }
  });

  test('in a value that cannot be JSON', () => {
    expect(faultsOf(undefined)).toHaveLength(1);
  });
});

describe('several faults', () => {
  test('are all reported, in the order of their paths', () => {
    const scenario = {
      ...smallScenario(),
      titel: 'x',
      seed: -1,
      repeats: 'three',
      parameters: { durability: 'durble' },
    };
    expect(faultsOf(scenario).map((fault) => fault.path)).toEqual([
      '/parameters/durability',
      '/repeats',
      '/seed',
      '/titel',
    ]);
  });

  test('are in the error too, with the first in its sentence', () => {
    const parsed = parseScenario({ ...smallScenario(), seed: -1, repeats: 0 });
    expect(parsed).toMatchObject({
      ok: false,
      error: {
        code: 'SCENARIO_INVALID',
        kind: 'invalid',
        retryable: false,
        message: 'The scenario has 2 faults: /repeats: Must be at least 1, not 0 (and 1 more)',
        details: { errors: [{ path: '/repeats' }, { path: '/seed' }] },
      },
    });
  });
});

describe('a scenario that could not run is refused because of', () => {
  test('too many combinations', () => {
    const axis = (length: number) => Array.from({ length }, (_, index) => index + 1);
    const sweep = { ...smallScenario().sweep, threads: axis(16), instances: axis(16), roundTripMs: [0, 1] };
    const phases = { warmupMs: 0, measureMs: 100, drainMs: 0 };
    expect(faultsOf(smallScenario({ sweep, phases }))).toEqual([
      { path: '/sweep', message: 'The sweep has 1,024 combinations; the limit is 512' },
    ]);
  });

  test('a quick sweep larger than the full one', () => {
    const sweep = { ...smallScenario().sweep, threads: [1, 4] };
    expect(faultsOf(smallScenario({ sweep, quick: { sweep: { threads: [1, 2, 3, 4] } } }))).toEqual([
      { path: '/quick/sweep', message: 'The quick sweep has 16 combinations, more than the full sweep (8)' },
    ]);
  });

  test('a topic without subscribers, and subscribers of a queue', () => {
    expect(faultsOf(smallScenario({ program: 'topic' }))).toMatchObject([
      { path: '/parameters/subscribers' },
    ]);
    const sweep = { ...smallScenario().sweep, subscribers: [3] };
    expect(faultsOf(smallScenario({ sweep }))).toMatchObject([
      { path: '/sweep/subscribers', message: expect.stringContaining('Unknown field') },
    ]);
    expect(faultsOf(smallScenario({ program: 'topic', sweep }))).toEqual([]);
    const crowd = { ...sweep, subscribers: [1_000], threads: [9] };
    expect(faultsOf(smallScenario({ program: 'topic', systems: ['sharded'], sweep: crowd }))).toMatchObject([
      { path: '/sweep/threads', message: expect.stringContaining('9,009 sessions') },
    ]);
  });

  test('rows of an application if its tables cannot exist', () => {
    const sweep = { threads: [1], instances: [1], rows: ['none', 'together'] };
    const systems = ['sharded'];
    expect(faultsOf(smallScenario({ systems, sweep }))).toEqual([]);
    const fault = [{ path: '/sweep/rows/1' }];
    expect(faultsOf(smallScenario({ systems, sweep: { ...sweep, instances: [1, 2] } }))).toMatchObject(fault);
    expect(faultsOf(smallScenario({ systems: ['unsharded'], sweep }))).toMatchObject(fault);
  });

  test('dequeuers on other instances if nothing is forwarded', () => {
    const sweep = {
      ...smallScenario().sweep,
      instances: [1],
      dequeuers: ['same-instance', 'other-instance'],
    };
    const parameters = { durability: 'memory' };
    const scenario = smallScenario({ parameters, systems: ['sharded'], sweep });
    expect(faultsOf(scenario)).toMatchObject([
      { path: '/sweep/dequeuers/1', message: expect.stringContaining('remote') },
      { path: '/sweep/dequeuers/1', message: expect.stringContaining('two instances') },
      { path: '/sweep/dequeuers/1', message: expect.stringContaining('persistent') },
    ]);
  });

  test('skewed placement if an instance would have no thread', () => {
    const placed = (instances: number[], threads: number[]) =>
      faultsOf(smallScenario({ sweep: { instances, threads, placement: ['even', 'skewed'] } }));
    expect(placed([2, 4], [12, 32])).toEqual([]);
    const fault = [{ path: '/sweep/placement/1', message: expect.stringContaining('four threads') }];
    expect(placed([2, 4], [8])).toMatchObject(fault);
    expect(placed([1, 2], [8])).toMatchObject(fault);
  });

  test('a nonpersistent durability among those of an unsharded queue', () => {
    const sweep = { ...smallScenario().sweep, durability: ['durable', 'memory'] };
    expect(faultsOf(smallScenario({ sweep }))).toMatchObject([{ path: '/sweep/durability/1' }]);
    const grouped = smallScenario({ systems: ['unsharded-grouped'], sweep });
    expect(faultsOf(grouped)).toMatchObject([
      { path: '/sweep/durability/1', message: expect.stringContaining('with "unsharded-grouped"') },
    ]);
  });

  test('a quick sweep with an axis or a name that the full sweep does not have', () => {
    const quick = { sweep: { durability: ['memory'] } };
    expect(faultsOf(smallScenario({ quick }))).toMatchObject([{ path: '/quick/sweep/durability' }]);
    const sweep = { ...smallScenario().sweep, durability: ['durable', 'relaxed'] };
    expect(faultsOf(smallScenario({ sweep, quick }))).toMatchObject([{ path: '/quick/sweep/durability/0' }]);
  });

  test('a run of days', () => {
    const phases = { warmupMs: 0, measureMs: 600_000, drainMs: 0 };
    expect(faultsOf(smallScenario({ phases, repeats: 20 }))).toMatchObject([{ path: '/phases' }]);
  });

  test('transactions larger than the limit', () => {
    const parameters = { payloadBytes: 2 ** 20, operationsPerTransaction: 33, backlogMax: 100 };
    expect(faultsOf(smallScenario({ parameters }))).toMatchObject([
      {
        path: '/parameters/operationsPerTransaction',
        message: expect.stringContaining('33 MiB in size; the limit is 32 MiB'),
      },
    ]);
    const sweep = { ...smallScenario().sweep, threads: [64] };
    expect(
      faultsOf(smallScenario({ sweep, parameters: { ...parameters, operationsPerTransaction: 32 } })),
    ).toMatchObject([
      {
        path: '/parameters/operationsPerTransaction',
        message: expect.stringContaining('64 sessions that stage'),
      },
    ]);
  });

  test('a text over the byte limit, before it is parsed', () => {
    const parsed = parseScenario(' '.repeat(scenarioLimits.bytesMax + 1));
    expect(parsed).toMatchObject({ ok: false, error: { code: 'SCENARIO_TOO_LARGE', kind: 'too-large' } });
    const value = parseScenario({ ...smallScenario(), note: 'x'.repeat(scenarioLimits.bytesMax) });
    expect(value).toMatchObject({ ok: false, error: { code: 'SCENARIO_TOO_LARGE' } });
  });
});

describe('text that is not JSON', () => {
  test('is refused with line and column', () => {
    const parsed = parseScenario('{\n  "version": 1,\n  "id": oops\n}');
    expect(parsed).toMatchObject({
      ok: false,
      faults: [{ path: '', message: 'Not JSON: at line 3, column 9, expected a value but found "o"' }],
      error: { code: 'SCENARIO_INVALID', details: { line: 3, column: 9 } },
    });
  });

  test('does not exhaust the stack, even if it is only brackets', () => {
    expect(faultsOf('['.repeat(200_000))).toHaveLength(1);
  });
});
