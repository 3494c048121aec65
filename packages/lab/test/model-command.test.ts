import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { table, writeSection } from '../src/model/markdown.ts';
import { agreementTable, predictionTable } from '../src/model/model-tables.ts';
import { point, smallScenario } from './support.ts';

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
  test('predicts from the white paper’s machine, holds two runs against it, and writes all of it into a document', async () => {
    const run = { scale: 'full', endedAtMs: null, environment: null };
    const queue = { ...run, scenario: smallScenario(), points: [point({ deq: 5_000, threads: 2 })] };
    const topic = {
      ...run,
      scenario: smallScenario({ title: 'A topic', figure: 'Figure 7' }),
      points: [point({ deq: 5_000, threads: 2, subscribers: 10 })],
    };
    await writeFile(join(folder, 'queue.json'), JSON.stringify(queue));
    await writeFile(join(folder, 'topic.json'), JSON.stringify(topic));
    const sections = ['model-predictions', 'model-agreement'];
    await writeFile(
      join(folder, 'doc.md'),
      `# Model\n${sections.map((name) => `<!-- ${name} -->\nSTALE\n<!-- /${name} -->\n`).join('')}end\n`,
    );
    const runs = ['--run', 'queue.json', '--run', 'topic.json'];
    const { code, out, err } = await lab(['model', 'exadata-x4-2', ...runs, '--write', 'doc.md']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('of 11 are hits');
    const document = await readFile(join(folder, 'doc.md'), 'utf8');
    expect(document).toContain('| A12 |');
    expect(document).toContain('of all 2 points');
    expect(document).toContain('### A small scenario');
    expect(document).toContain('| Figure 7 | sharded | 1 |');
    expect(document.match(/rates are within 20 %/g)).toHaveLength(2);
    expect(document).not.toContain('STALE');
    expect(document).toMatch(/end\n$/);
  }, 60_000);

  test.each([
    [['model'], 'model needs a hardware file'],
    [['model', 'nowhere'], 'The hardware file "nowhere" cannot be read'],
    [['calibrate', 'this'], 'Unexpected argument "this"'],
  ])('%j is a usage error', async (args, sentence) => {
    expect(await lab(args)).toMatchObject({ code: 2, err: expect.stringContaining(sentence) });
  });
});

describe('tables', () => {
  test('mark what is outside of its aim, and a miss', () => {
    const comparison = (measured: number, simulated: number) => ({
      measured,
      simulated,
      error: simulated / measured - 1,
    });
    const row = (simulated: number, inside: boolean) => ({
      kind: 'sharded' as const,
      params: { instances: 1, threads: 4, roundTripMs: 0, payloadBytes: 512, operationsPerTransaction: 10 },
      dequeuePerSec: comparison(1000, simulated),
      enqueuePerSec: comparison(1000, simulated),
      cpuUsPerMessage: comparison(10, 12),
      dequeueCallMs: { ...comparison(0.1, 0.1), inside: true },
      latencyMs: { ...comparison(1, 1.2), inside },
      bottleneck: { resource: 'cores' as const, share: 0.93 },
    });
    const text = agreementTable({ rows: [row(1100, true), row(700, false)], within: 1, medianError: 0.2 });
    expect(text).toContain('1 of 2 rates are within 20 %');
    expect(text).toContain('| +10 % |');
    expect(text).toContain('| **−30 %** |');
    expect(text).toContain('| **1.2** |');
    expect(text).toContain('| cores, 93 % |');
    const predictions = predictionTable([
      { claim: 'A1', says: 'says', value: 3, unit: 'x', hit: false, reason: 'Because.' },
    ]);
    expect(predictions).toContain('0 of 1 are hits');
    expect(predictions).toContain('| **miss** |');
  });

  test('have a line under the head', () => {
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
