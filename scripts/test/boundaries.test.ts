/**
 * The import boundaries of biome.json: each is broken once on purpose, in a copy of the folders, and must be reported.
 * Those between the rooms of the engine, and of the lab, are in `rooms.test.ts`.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;

function makeFolder() {
  folder = mkdtempSync(join(tmpdir(), 'shardlab-boundaries-'));
  cpSync(join(root, 'biome.json'), join(folder, 'biome.json'));
}
const removeFolder = () => rmSync(folder, { recursive: true });

beforeEach(makeFolder);
afterEach(removeFolder);

function write(file: string, text: string) {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

/** Lints the folder; returns the rules that are violated, and the files. */
function lint(): { rule: string; file: string }[] {
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const args = [biome, 'lint', '--reporter=json', '--vcs-enabled=false', '--max-diagnostics=200', '.'];
  const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  const report = JSON.parse(stdout) as { diagnostics: { category: string; location: { path: string } }[] };
  return report.diagnostics.map(({ category, location }) => ({ rule: category, file: location.path }));
}

const restricted = 'lint/style/noRestrictedImports';

describe('an import across a boundary is reported', () => {
  const broken: [file: string, specifier: string][] = [
    ['packages/engine/src/a.ts', '@shardlab/server'],
    ['packages/engine/test/a.test.ts', '@shardlab/server'],
    ['packages/model/src/a.ts', 'node:os'],
    ['packages/model/src/a.ts', '@shardlab/contract'],
    ['packages/contract/src/a.ts', '@shardlab/engine'],
    ['packages/history/src/a.ts', '@shardlab/engine'],
    ['packages/history/src/a.ts', 'node:child_process'],
    ['packages/lab/src/a.ts', '@shardlab/engine/src/api/errors.ts'],
    ['packages/lab/src/a.ts', '../../engine/src/storage/catalog/catalog.ts'],
    ['packages/lab/src/a.ts', '@shardlab/server'],
    ['packages/lab/src/a.ts', 'better-sqlite3'],
    ['packages/lab/src/a.ts', 'node:http'],
    ['packages/lab/src/systems/peers/a.ts', '@shardlab/engine'],
    ['packages/lab/src/systems/peers/a.ts', '@shardlab/history'],
    ['packages/lab/src/systems/peers/a.ts', '@shardlab/server'],
    ['packages/lab/src/systems/peers/a.ts', '@shardlab/web'],
    ['packages/lab/src/systems/peers/a.ts', '../../../../engine/src/index.ts'],
    ['packages/lab/src/systems/peers/a.ts', '../../../../../apps/server/main.ts'],
    ['packages/lab/src/systems/peers/a.ts', 'node:sqlite'],
    ['packages/lab/src/systems/peers/a.ts', 'node:https'],
    ['packages/lab/src/systems/peers/a.ts', 'fastify'],
    ['packages/lab/src/raw/a.ts', '@shardlab/engine'],
    ['packages/lab/src/raw/a.ts', '@shardlab/server'],
    ['packages/lab/src/raw/a.ts', '../meters/clock.ts'],
    ['packages/lab/src/raw/a.ts', '../../../engine/src/index.ts'],
    ['packages/lab/src/raw/a.ts', 'node:sqlite'],
    ['packages/lab/src/raw/a.ts', 'node:http'],
    ['packages/lab/src/raw/a.ts', 'fastify'],
    ['packages/jetstream/src/a.ts', '@shardlab/engine/src/api/errors.ts'],
    ['packages/jetstream/src/a.ts', '@shardlab/engine/thread-session'],
    ['packages/jetstream/src/a.ts', '../../engine/src/index.ts'],
    ['packages/jetstream/src/a.ts', '@shardlab/history'],
    ['packages/jetstream/src/a.ts', '@shardlab/lab'],
    ['packages/jetstream/src/a.ts', '@shardlab/server'],
    ['packages/jetstream/src/a.ts', 'better-sqlite3'],
    ['packages/jetstream/src/a.ts', 'node:http'],
    ['apps/server/src/a.ts', '../../../packages/engine/src/index.ts'],
    ['apps/server/src/a.ts', '@shardlab/web'],
    ['apps/web/src/a.ts', '@shardlab/engine'],
    ['apps/web/src/a.ts', '@shardlab/lab'],
    ['apps/web/src/pages/run/a.ts', 'd3-selection'],
    ['apps/web/src/pages/run/a.ts', '../queues/b.ts'],
    ['apps/web/src/pages/run/a.ts', '../../pages/queues/b.ts'],
    ['apps/web/src/pages/run/a.ts', '../../router.tsx'],
    ['apps/web/src/parts/a.ts', 'd3-selection'],
    ['apps/web/src/parts/a.ts', '../pages/run/b.ts'],
    ['apps/web/src/api/a.ts', 'react'],
    ['apps/web/src/api/a.ts', '../parts/b.ts'],
    ['apps/web/src/charts/a.ts', 'react'],
    ['apps/web/src/charts/a.ts', '../api/client.ts'],
    ['apps/web/src/charts/a.ts', '../parts/b.ts'],
    ['apps/web/src/model/a.ts', '@tanstack/react-query'],
    ['apps/web/src/model/a.ts', '../charts/b.ts'],
    ['apps/web/src/model/a.ts', 'd3-selection'],
    ['e2e/a.spec.ts', '../apps/web/src/main.tsx'],
    ['e2e/a.spec.ts', '@shardlab/contract'],
    ['scripts/a.mjs', '../apps/server/src/app.ts'],
  ];
  /** Each import is in a file of its own, so that one run of the linter reports all; starting it takes longer than linting. */
  const fileOf = (index: number) => broken[index]![0].replace('a.', `a${index}.`);
  const reported = new Set<string>();
  beforeAll(() => {
    makeFolder();
    for (const [index, [, specifier]] of broken.entries())
      write(fileOf(index), `import * as it from '${specifier}';\nexport const a = it;\n`);
    for (const { rule, file } of lint()) if (rule === restricted) reported.add(file);
    removeFolder();
  });

  const numbered = broken.map((pair, index) => [...pair, index] as const);
  test.each(numbered)('%s importing %s', (_file, _specifier, index) => {
    expect(reported).toContain(fileOf(index));
  });

  test('as a type, as a re-export and as a dynamic import too', () => {
    const file = 'packages/lab/src/';
    write(`${file}type.ts`, `import type { B } from 'fastify';\nexport type A = B;\n`);
    write(`${file}again.ts`, `export { b } from 'fastify';\n`);
    write(`${file}late.ts`, `export const b = () => import('fastify');\n`);
    const found = lint().filter(({ rule }) => rule === restricted);
    expect(found.map(({ file }) => file).sort()).toEqual([
      `${file}again.ts`,
      `${file}late.ts`,
      `${file}type.ts`,
    ]);
  });
});

test('allowed imports are not reported', () => {
  const allowed: [file: string, specifiers: string[]][] = [
    ['packages/contract/src/a.ts', ['./b.ts', 'typebox', '@shardlab/engine/message-event-kinds']],
    ['packages/lab/src/runs/a.ts', ['../b.ts', '@shardlab/engine', '@shardlab/contract', 'hdr-histogram-js']],
    ['packages/lab/src/systems/peers/a.ts', ['./b.ts', '../driver/driver.ts', 'better-sqlite3', 'plainjob']],
    ['packages/lab/src/raw/a.ts', ['./b.ts', 'better-sqlite3', 'node:fs']],
    [
      'packages/jetstream/src/move/a.ts',
      [
        '../b.ts',
        '@shardlab/engine',
        '@shardlab/engine/queue-settings',
        '@shardlab/engine/store-rules',
        'node:net',
      ],
    ],
    ['apps/server/src/routes/a.ts', ['../b.ts', '@shardlab/lab', '@shardlab/contract', 'better-sqlite3']],
    ['apps/web/src/model/a.ts', ['./b.ts', 'd3-scale', '@shardlab/contract', '@shardlab/model']],
    ['apps/web/src/charts/a.ts', ['./b.ts', '../model/b.ts', 'd3-selection', '@shardlab/contract']],
    ['apps/web/src/api/a.ts', ['./b.ts', '../model/b.ts', '@tanstack/react-query']],
    ['apps/web/src/parts/a.ts', ['./b.ts', '../charts/b.ts', '../model/b.ts', '../api/b.ts', 'react']],
    [
      'apps/web/src/pages/run/a.ts',
      ['./b.ts', '../../parts/b.ts', '../../charts/b.ts', '../../model/b.ts', '../../api/b.ts', 'react'],
    ],
    ['e2e/a.spec.ts', ['./server.ts', '@playwright/test', 'node:fs']],
  ];
  for (const [file, specifiers] of allowed) {
    const lines = specifiers.map((specifier, i) => `import * as it${i} from '${specifier}';`);
    write(file, `${lines.join('\n')}\nexport const all = [${specifiers.map((_, i) => `it${i}`)}];\n`);
  }
  expect(lint().filter(({ rule }) => rule === restricted)).toEqual([]);
});

test('a cycle of imports between files is reported, also if they import types only', () => {
  write('packages/lab/src/a.ts', `import { b } from './b.ts';\nexport const a = () => b;\n`);
  write('packages/lab/src/b.ts', `import { a } from './a.ts';\nexport const b = () => a;\n`);
  write('packages/engine/src/log/c.ts', `import type { D } from './d.ts';\nexport type C = D[];\n`);
  write('packages/engine/src/log/d.ts', `import type { C } from './c.ts';\nexport type D = { c: C };\n`);
  const cycles = lint().filter(({ rule }) => rule === 'lint/suspicious/noImportCycles');
  expect(cycles.map(({ file }) => file).sort()).toEqual([
    'packages/engine/src/log/c.ts',
    'packages/engine/src/log/d.ts',
    'packages/lab/src/a.ts',
    'packages/lab/src/b.ts',
  ]);
});

test('a cycle of type imports in the dashboard is reported', () => {
  write('apps/web/src/model/a.ts', `import type { B } from './b.ts';\nexport type A = B | null;\n`);
  write('apps/web/src/model/b.ts', `import type { A } from './a.ts';\nexport type B = A[];\n`);
  const cycles = lint().filter(({ rule }) => rule === 'lint/suspicious/noImportCycles');
  expect(cycles.map(({ file }) => file).sort()).toEqual([
    'apps/web/src/model/a.ts',
    'apps/web/src/model/b.ts',
  ]);
});

test('a package is reported that the manifest does not have, or has for development only', () => {
  write(
    'packages/lab/package.json',
    JSON.stringify({ name: 'lab', dependencies: { ajv: '1' }, devDependencies: { vitest: '1' } }),
  );
  write('packages/lab/src/a.ts', `import ajv from 'ajv';\nexport const a = ajv;\n`);
  write('packages/lab/src/b.ts', `import { test } from 'vitest';\nexport const b = test;\n`);
  write('packages/lab/src/c.ts', `import left from 'left-pad';\nexport const c = left;\n`);
  const found = lint().filter(({ rule }) => rule === 'lint/correctness/noUndeclaredDependencies');
  expect(found.map(({ file }) => file).sort()).toEqual(['packages/lab/src/b.ts', 'packages/lab/src/c.ts']);
});

describe('pure code of the dashboard that uses the network or the page is reported', () => {
  test.each(['charts', 'model'])('%s', (pure) => {
    const globals = ['fetch', 'EventSource', 'XMLHttpRequest', 'document', 'window'];
    const fileOf = (name: string) => `apps/web/src/${pure}/${name}.ts`;
    for (const name of globals) write(fileOf(name), `export const a = () => ${name};\n`);
    const found = lint().filter(({ rule }) => rule === 'lint/style/noRestrictedGlobals');
    expect(found.map(({ file }) => file).sort()).toEqual(globals.map(fileOf).sort());
  });
});
