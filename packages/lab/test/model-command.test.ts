import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Run } from '@shardlab/contract';
import type { AgreementRow, HardwareFile } from '@shardlab/model';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agreementReport } from '../src/model/agreement-report.ts';
import { agreementTable } from '../src/model/agreement-table.ts';
import { table, writeSection } from '../src/model/markdown.ts';
import { predictionTable } from '../src/model/model-tables.ts';
import { point, smallScenario } from './support.ts';

const exadataPath = new URL('../../../scenarios/hardware/exadata-x4-2.json', import.meta.url);
const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url));
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function lab(args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: folder,
    env: { ...process.env, INIT_CWD: folder },
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (data) => {
    said.out += data;
  });
  child.stderr.on('data', (data) => {
    said.err += data;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...said, code })));
}

describe('the model command', () => {
  test('predicts from the white paper’s machine, compares two runs with the model, and writes both into a document', async () => {
    const run = { scale: 'full', endedAtMs: null, environment: null };
    const queue = { ...run, scenario: smallScenario(), points: [point({ deq: 5_000, threads: 2 })] };
    const topic = {
      ...run,
      scenario: smallScenario({ title: 'A topic', figure: 'Figure 7' }),
      // The model has only the first of these systems.
      points: ['sharded', 'unsharded-grouped', 'unsharded-once'].map((system) =>
        point({ deq: 5_000, threads: 2, subscribers: 10, system }),
      ),
    };
    await writeFile(join(folder, 'queue.json'), JSON.stringify(queue));
    await writeFile(join(folder, 'topic.json'), JSON.stringify(topic));
    const sections = ['model-predictions', 'model-agreement'];
    await writeFile(
      join(folder, 'doc.md'),
      `# Model\n${sections.map((name) => `<!-- ${name} -->\nSTALE\n<!-- /${name} -->\n`).join('')}end\n`,
    );
    const runs = ['--run', 'queue.json', '--run', 'topic.json'];
    const { code, out, err } = await lab([
      'model',
      'exadata-x4-2',
      ...runs,
      '--write',
      'doc.md',
      '--json',
      'model.json',
    ]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('of 11 are hits');
    const document = await readFile(join(folder, 'doc.md'), 'utf8');
    expect(document).toContain('| A12 |');
    expect(document).toMatch(/\d+ of 2, \d+ %/);
    expect(document).toContain(
      '18 chosen multiples of 3 free parameters, which were fitted to 3 observations.',
    );
    expect(document).toContain('### A small scenario');
    expect(document).toContain('| Figure 7 | sharded | 1 |');
    expect(document.match(/^Within 20 %: dequeue rate/gm)).toHaveLength(2);
    const json = JSON.parse(await readFile(join(folder, 'model.json'), 'utf8'));
    expect(json).toMatchObject({ hardware: 'exadata-x4-2', sources: { measured: 0, fitted: 18 } });
    expect(json.predictions).toHaveLength(11);
    expect(json.agreement.map(({ rows }: { rows: unknown[] }) => rows.length)).toEqual([1, 1]);
    expect(document).not.toContain('STALE');
    expect(document).toMatch(/end\n$/);
  }, 60_000);

  test('compares with the recorded run of a scenario', async () => {
    const { code, out } = await lab(['model', 'two-core-epyc', '--run', 'white-paper-figure-11']);
    expect(code).toBe(0);
    expect(out).toMatch(/The recording of `white-paper-figure-11`, 5 repeats, .* ext4, 20\d\d-/);
    expect(out).toMatch(/\| Figure 11 \| \d+ of \d+, \d+ % \|/);
  }, 60_000);

  test.each([
    [['model'], 'model needs a hardware file'],
    [['model', 'nowhere'], 'The hardware file "nowhere" cannot be read'],
    [
      ['model', 'exadata-x4-2', '--run', 'gone'],
      'There is no file gone, and no scenario of this name is recorded',
    ],
    [['calibrate', 'this'], 'Unexpected argument "this"'],
  ])('%j is a usage error', async (args, sentence) => {
    expect(await lab(args)).toMatchObject({ code: 2, err: expect.stringContaining(sentence) });
  });
});

describe('tables', () => {
  const comparison = (measured: number, simulated: number) => ({
    measured,
    simulated,
    error: simulated / measured - 1,
  });
  const row = (simulated: number, commitMs?: number): AgreementRow => ({
    kind: 'sharded',
    params: { instances: 1, threads: 4, roundTripMs: 0, payloadBytes: 512, operationsPerTransaction: 10 },
    compared: {
      dequeuePerSec: comparison(1000, simulated),
      cpuUsPerMessage: comparison(10, 12.5),
      dequeueCallMs: comparison(0.1, 0.1),
      latencyMs: comparison(1, 3),
      ...(commitMs === undefined ? {} : { commitMs: comparison(1, commitMs) }),
    },
    bottleneck: { resource: 'cores', share: 0.93 },
  });

  test('give the error of every figure, and mark those outside of the aim of 20 %', () => {
    const text = agreementTable([row(1100, 1.1), row(700)]);
    expect(text).toContain(
      'Within 20 %: dequeue rate 1 of 2, CPU per message 0 of 2, commit p50 1 of 1, dequeue call p50 2 of 2, commit to delivery p50 0 of 2.',
    );
    expect(text).toContain('| 1,000 | 1,100 | +10 % | 10 | 12.5 | **+25 %** | 1 | 1.1 | +10 % |');
    expect(text).toContain('| 1,000 | 700 | **−30 %** |');
    expect(text).toContain('| – | – | – | 0.1 | 0.1 | +0 % | 1 | 3 | **+200 %** | cores, 93 % |');
    expect(agreementTable([row(1100)])).not.toContain('commit p50');
  });

  test('count figures over all runs, with the sources of the hardware file’s numbers', () => {
    const run = {
      scenario: smallScenario({ figure: 'Figure 3' }),
      scale: 'quick',
      points: [],
      environment: null,
      endedAtMs: null,
    } as unknown as Run;
    const file = JSON.parse(readFileSync(exadataPath, 'utf8')) as HardwareFile;
    const text = agreementReport(file, [
      { run, rows: [row(1100, 1.1)] },
      { run, rows: [row(700)] },
    ]);
    expect(text).toContain(
      '| all | 1 of 2, 20 % | 0 of 2, 25 % | 1 of 1, 10 % | 2 of 2, 0 % | 0 of 2, 200 % |',
    );
    expect(text).toContain('| Figure 3 | 0 of 1, 30 % | 0 of 1, 25 % | not measured |');
    expect(text).toMatch(/Of \d+ numbers and switches: \d+ stated by a document, \d+ facts of the design/);
  });

  test('distinguish hits that follow from the structure from predictions', () => {
    const prediction = (claim: string, hit: boolean) => ({
      claim,
      says: 'says',
      value: 3,
      unit: 'x',
      hit,
      reason: 'Because.',
    });
    const predictions = [prediction('A1', true), prediction('A4', true), prediction('A12', false)];
    expect(predictionTable(predictions)).toContain('2 of 3 are hits.');
    const text = predictionTable(predictions, [
      { claim: 'A1', holds: 95, of: 100 },
      { claim: 'A4', holds: 94, of: 100 },
      { claim: 'A12', holds: 20, of: 100 },
    ]);
    expect(text).toContain(
      '1 follow from the structure of the model (A1), 1 depend on the costs, that is on fitted numbers and chosen multiples (A4)',
    );
    expect(text).toContain('| hit | 95 %, structure | Because. |');
    expect(text).toContain('| hit | 94 % | Because. |');
    expect(text).toContain('| **miss** | 20 % | Because. |');
  });

  test('have a line under their header', () => {
    expect(table(['a', 'b'], [['1', '2']])).toBe('| a | b |\n| --- | --- |\n| 1 | 2 |');
  });

  test('a document without the section is refused, and left as it is', async () => {
    const path = join(folder, 'plain.md');
    await writeFile(path, '# Plain\n');
    await expect(writeSection(path, 'model-fit', 'x')).rejects.toMatchObject({
      code: 'DOCUMENT_SECTION_MISSING',
    });
    expect(await readFile(path, 'utf8')).toBe('# Plain\n');
  });
});
