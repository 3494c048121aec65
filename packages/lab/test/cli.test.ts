import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClaimClause, Run } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { durationInWords } from '../src/cli/duration.ts';
import { faultsInWords } from '../src/cli/fault-words.ts';
import { progressBar } from '../src/cli/progress-line.ts';
import { resultTable, verdictsInWords } from '../src/cli/result-table.ts';
import { queueProgram } from '../src/programs/queue/queue-program.ts';
import { point, smallScenario } from './support.ts';

const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url));
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

function lab(args: string[], onErr?: (text: string, kill: () => void) => void): Promise<Ended> {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: folder,
    env: { ...process.env, INIT_CWD: folder, DATA_DIR: 'kept' },
  });
  const ended: Ended = { code: null, out: '', err: '' };
  child.stdout.on('data', (data) => {
    ended.out += data;
  });
  child.stderr.on('data', (data) => {
    ended.err += data;
    onErr?.(String(data), () => child.kill('SIGINT'));
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...ended, code })));
}

async function scenarioFile(name: string, content: unknown): Promise<string> {
  await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  return name;
}

describe('the command line', () => {
  test('explains itself', async () => {
    expect(await lab(['--help'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('--require <claim>'),
    });
  });

  test.each([
    [[], 'No command was given'],
    [['fly'], 'Unknown command "fly"'],
    [['run'], 'run needs a scenario'],
    [['run', 'first-look', '--quik'], "Unknown option '--quik'"],
    [['run', 'nowhere.json'], 'There is no scenario "nowhere.json"'],
    [['run', 'first-look', '--require', 'A1'], 'first-look tests A3, A4, A5'],
    [['record', '--hours', '600'], '--hours must be a number above 0 and up to 500'],
    [['record', '--hours', 'two'], '--hours must be a number above 0 and up to 500'],
  ])('%j is a usage error', async (args, sentence) => {
    expect(await lab(args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(sentence) });
  });

  test('reads files that begin with a byte order mark', async () => {
    const file = await scenarioFile('marked.json', `\ufeff${JSON.stringify(smallScenario())}`);
    expect(await lab(['validate', file])).toMatchObject({ code: 0, err: '' });
  });

  test('reports every fault of a scenario with its path', async () => {
    const file = await scenarioFile('bad.json', { ...smallScenario(), seed: -1, repeats: 'x' });
    const { code, err } = await lab(['validate', file]);
    expect(code).toBe(2);
    expect(err).toContain(
      'bad.json has 2 faults:\n  /repeats: Must be an integer, not "x"\n  /seed: Must be at least 0, not -1',
    );
  });

  test('runs a scenario to its table and verdicts, and writes the run', async () => {
    const file = await scenarioFile(
      'small.json',
      smallScenario({ sweep: { instances: [1], threads: [1, 2] } }),
    );
    const { code, out, err } = await lab(['run', file, '--json', 'out.json', '--data-dir', 'data']);
    expect({ code, err: err.includes('Error') }).toEqual({ code: 0, err: false });
    expect(err).toContain('3/4');
    expect(out).toMatch(/^unsharded +2 +\d/m);
    expect(out).toContain('A3 ');
    const run = JSON.parse(await readFile(join(folder, 'out.json'), 'utf8')) as Run;
    expect(run).toMatchObject({ status: 'done', error: null });
    expect(run.points).toHaveLength(4);
  }, 240_000);

  test('runs several scenarios one after the other, writes each run, and prints a summary', async () => {
    const changes = { systems: ['sharded'], sweep: { instances: [1], threads: [1] } };
    const one = await scenarioFile('one.json', smallScenario({ id: 'one', ...changes }));
    const two = await scenarioFile('two.json', smallScenario({ id: 'two', ...changes, claims: [] }));
    const { code, out } = await lab(['run', one, two, '--json', 'runs', '--data-dir', 'data']);
    expect(code).toBe(0);
    expect(out).toContain('2 of 2 scenarios in ');
    expect(out).toMatch(/^ {2}two {2}done +\d+ s +integrity ok$/m);
    expect(out).toMatch(/^ {2}A3 {2}.* one$/m);
    const run = JSON.parse(await readFile(join(folder, 'runs/two.json'), 'utf8')) as Run;
    expect(run.status).toBe('done');
  }, 240_000);

  test('reports a fault in the last of several scenarios before the first one runs', async () => {
    const good = await scenarioFile('good.json', smallScenario());
    const bad = await scenarioFile('worse.json', { ...smallScenario(), seed: -1 });
    expect(await lab(['run', good, bad])).toMatchObject({ code: 2, out: '' });
  });

  test('fails for a required claim that is not shown to hold', async () => {
    const few = smallScenario({ systems: ['unsharded'], sweep: { instances: [1], threads: [1] } });
    const file = await scenarioFile('few.json', few);
    expect(await lab(['run', file, '--require', 'A3'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('Required claim A3 does not hold'),
    });
  });

  test('lists the claims that were judged, by which run and how often, and those that were not', async () => {
    const changes = { systems: ['sharded'], sweep: { instances: [1], threads: [1] } };
    const file = await scenarioFile('judged.json', smallScenario({ id: 'judged', ...changes }));
    const flags = ['--data-dir', 'ledger'];
    await lab(['run', file, ...flags]);
    await lab(['run', file, ...flags]);
    const count = bundledStudies.claims.length;
    const { code, out } = await lab(['claims', ...flags]);
    expect(code).toBe(0);
    // The verdict depends on the machine: a busy one delivers too few messages in this short window for any but the last.
    expect(out).toMatch(/^A3 (HOLDS|DOES NOT HOLD|INCONCLUSIVE)\b.*$/m);
    expect(out).toMatch(/From judged, full, .* UTC.*; .* [12]$/m);
    expect(out).toContain('A17 NOT MEASURED ON THIS MACHINE');
    expect(out).toContain('Run white-paper-figure-10 to test it');
    expect(out).toMatch(new RegExp(`^${count} claims: .* 1, not measured yet ${count - 1}$`, 'm'));
  }, 240_000);

  test('writes the points measured so far if it is interrupted', async () => {
    const file = await scenarioFile(
      'long.json',
      smallScenario({ phases: { warmupMs: 0, measureMs: 400, drainMs: 0 } }),
    );
    const { code, out } = await lab(['run', file, '--json', 'cut.json'], (text, interrupt) => {
      if (text.includes('] 1/8')) interrupt();
    });
    expect(code).toBe(130);
    expect(out).toContain('cancelled after');
    const run = JSON.parse(await readFile(join(folder, 'cut.json'), 'utf8')) as Run;
    expect(run.status).toBe('cancelled');
    expect(run.points.length).toBeGreaterThan(0);
  }, 240_000);
});

describe('what the command line prints', () => {
  test('has durations in at most two units', () => {
    expect([400, 59_400, 60_000, 125_000, 3_600_000, 3_900_000].map(durationInWords)).toEqual([
      '0 s',
      '59 s',
      '1 min',
      '2 min 5 s',
      '1 h',
      '1 h 5 min',
    ]);
  });

  test('has a progress bar with the trials that are done and the time left', () => {
    expect(progressBar({ done: 12, total: 48, etaMs: 65_000 })).toBe(
      '[██████··················] 12/48  about 1 min 5 s left',
    );
    expect(progressBar({ done: 3, total: 8, etaMs: null, measuredAgain: 2 })).toContain('3/8 + 2 again');
    expect(progressBar({ done: 0, total: 0, etaMs: null })).toContain('0/0');
  });

  test('has a table sorted by curve, with violations of integrity spelt out', () => {
    const table = resultTable(
      [
        point({ system: 'unsharded', deq: 8_000 }),
        point({ threads: 16, deq: 70_000.4, lost: 2, waits: [{ event: 'log file sync' }] }),
        point({ threads: 4, deq: 30_000 }),
      ],
      queueProgram,
    );
    const lines = table.split('\n');
    expect(lines.map((line) => line.split(/ {2,}/).slice(0, 3).join(' '))).toEqual([
      'system threads Dequeue rate /s',
      'sharded 4 30,000',
      'sharded 16 70,000',
      'unsharded 1 8,000',
    ]);
    expect(lines[2]).toMatch(/log file sync +2 LOST$/);
    expect(lines[1]).toMatch(/ok$/);
  });

  test('has a block for each point if most points lack most figures', () => {
    const points = ['dequeuePerSec', 'latencyP50Ms', 'enqueuePerSec'].map((name, index) => {
      const figures = {
        [name]: { value: index + 1, unit: '', provenance: 'measured' as const, repeats: [] },
      };
      const made = point({ threads: index + 1, deq: 1 });
      return { ...made, figures };
    });
    expect(resultTable(points, queueProgram).split('\n\n')).toEqual([
      'sharded, 1\n  Dequeue rate /s: 1\n  top wait event: log file sync\n  integrity: ok',
      'sharded, 2\n  Latency p50 ms: 2\n  top wait event: log file sync\n  integrity: ok',
      'sharded, 3\n  Enqueue rate /s: 3\n  top wait event: log file sync\n  integrity: ok',
    ]);
  });

  test('has a table that says which repeats do not count, and which points have no latency for that reason', () => {
    const made = point({ deq: 1, repeats: [1, 1] });
    const latencyP50Ms = { value: 3, unit: 'milliseconds', provenance: 'measured' as const, repeats: [3, 3] };
    const conditions = { notSteady: 0, disturbed: 0, measuredAgain: 0 };
    const table = resultTable(
      [
        { ...made, figures: { ...made.figures, latencyP50Ms }, conditions },
        {
          ...made,
          params: { ...made.params, threads: 2 },
          conditions: { ...conditions, notSteady: 2, disturbed: 1 },
        },
      ],
      queueProgram,
    );
    const [head, good, bad] = table.split('\n');
    const [latency, repeats] = ['Latency p50 ms', 'repeats'].map((title) => head!.indexOf(title));
    expect(good!.slice(latency).trim()).toMatch(/^3 /);
    expect(bad!.slice(latency).trim()).toMatch(/^not steady /);
    expect(good!.slice(repeats)).toMatch(/^ok /);
    expect(bad!.slice(repeats)).toMatch(/^2 of 2 not steady, 1 of 2 disturbed /);
    expect(head).not.toContain('raw');
  });

  test('aligns the columns after those in which points differ', () => {
    const points = [1, 2].map((step) => {
      const made = point({ deq: 8_000, lost: step - 1, waits: [{ event: 'log file sync' }] });
      return { ...made, params: { ...made.params, backlog: 1_000 ** step, cacheMiB: 16 ** step } };
    });
    const [head, ...rows] = resultTable(points, queueProgram).split('\n');
    const at = head!.indexOf('integrity');
    expect(rows.map((row) => row.slice(at))).toEqual(['ok', '1 LOST']);
  });

  test('has faults with the length of their outage, even if it never ended', () => {
    const fault = {
      kind: 'kill' as const,
      instance: 2,
      atMs: 2_500,
      takeoverMs: 301.2,
      outageMs: 342.7,
      dequeuePerSec: { before: 40_000, during: 20_000, after: 35_000 },
    };
    const made = point({ deq: 1, instances: 2 });
    const repeats = [[fault], [{ ...fault, takeoverMs: null, outageMs: null }]].map((faults) => ({
      ...made.repeats[0]!,
      faults,
    }));
    const [title, first, second] = faultsInWords([{ ...made, repeats }]).split('\n');
    expect(title).toBe('Faults:');
    expect(first).toBe(
      '  2 instances, repeat 1: instance 2 killed at 2.5 s, taken over after 301 ms, outage of 343 ms; all instances dequeued 40,000/s before, 20,000/s during, 35,000/s after',
    );
    expect(second).toContain('not taken over, never served again');
  });

  test('has a verdict with value, interval and reason, and a line for each of several clauses', () => {
    const clause = (change: Partial<ClaimClause>): ClaimClause => ({
      condition: null,
      statement: 'it rises',
      verdict: 'holds',
      value: 0.9,
      unit: 'slope',
      interval: [0.8, 1],
      repeats: 5,
      provenance: 'measured',
      provisional: false,
      reason: '',
      ...change,
    });
    const text = verdictsInWords([
      {
        id: 'A1',
        title: 'Title',
        document: 'says',
        grade: 'shape',
        weak: 'Anything does.',
        verdict: 'mixed',
        value: 0.00123,
        unit: 'slope',
        interval: [0.4, 31_000.4],
        repeats: 5,
        provenance: 'emulated',
        provisional: false,
        disturbed: false,
        reason: 'Because.',
        clauses: [
          clause({ condition: 'with a 1 ms round trip, emulated', provenance: 'emulated' }),
          clause({
            condition: 'as it is',
            verdict: 'does-not-hold',
            provisional: true,
            repeats: 1,
            interval: null,
          }),
        ],
      },
    ]);
    expect(text.split('\n')).toEqual([
      'A1 MIXED: 0.00123 slope (0.4 to 31,000)',
      '   Title. Because.',
      '     - with a 1 ms round trip, emulated: it rises: holds: 0.9 slope (0.8 to 1), emulated',
      '     - as it is: it rises: does not hold, provisional: 0.9 slope',
      '   Weak: Anything does.',
    ]);
  });
});
