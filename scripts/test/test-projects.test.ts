/** Each test file runs in one project, and those in `fast` start nothing. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { readProjects } from '../test-projects.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Creates a folder of packages with these files. */
function makeRoot(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'shardlab-projects-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

test('each test file of the repository is in one project', () => {
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  const deleted = execFileSync('git', ['ls-files', '--deleted'], { cwd: root, encoding: 'utf8' }).split('\n');
  const files = listed
    .split('\n')
    .filter((file) => /\.test\.[cm]?[jt]sx?$/.test(file) && !deleted.includes(file));
  const { fast, engine, system } = readProjects(root);
  expect([...fast, ...engine, ...system].sort()).toEqual(files.sort());
});

test('the simulators are fast tests, so that `npm run check` runs them', () => {
  const { fast } = readProjects(root);
  expect(fast).toEqual(
    expect.arrayContaining([
      'packages/engine/test/simulator/simulator.test.ts',
      'packages/engine/test/xa/crash-matrix.test.ts',
      'packages/engine/test/cluster/supervised-schedules.test.ts',
      'packages/engine/test/singletons/simulated-lease-faults.test.ts',
    ]),
  );
});

/** Matches a line that registers a hook when the module is loaded, rather than in a function that each file calls. */
const topLevelHook = /^(?:before|after)(?:Each|All)\(/m;

test('no module that test files share registers a hook at its top level, which would only work in the first file of a process', () => {
  expect('beforeAll(async () => {').toMatch(topLevelHook);
  expect('  beforeAll(async () => {').not.toMatch(topLevelHook);
  const shared = globSync(['{packages,apps}/*/test/**/*.{ts,tsx}', 'scripts/test/**/*.ts'], {
    cwd: root,
  }).filter((file) => !/\.test\.tsx?$/.test(file));
  expect(shared.length).toBeGreaterThan(50);
  expect(shared.filter((file) => topLevelHook.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
});

test('a test is fast unless what it imports can start a thread or a process, listen or open SQLite', () => {
  const of = readProjects(
    makeRoot({
      'packages/engine/package.json': '{"name":"@a/engine","exports":{".":"./src/index.ts"}}',
      'packages/engine/src/index.ts': `export { open, type Options } from './open.ts';\nexport {\n  add,\n} from './add.ts';\n`,
      'packages/engine/src/open.ts': `import { Worker } from 'node:worker_threads';\nexport const open = Worker;\n`,
      'packages/engine/src/add.ts': `import type { Worker } from 'node:worker_threads';\nexport const add = 1;\n`,
      'packages/engine/test/add.test.ts': `import { add, type Options } from '../src/index.ts';\n`,
      'packages/engine/test/type.test.ts': `import type { open } from '../src/open.ts';\n`,
      'packages/engine/test/open.test.ts': `import {\n  open,\n} from '../src/index.ts';\n`,
      'packages/engine/test/late.test.ts': `const late = await import('../src/open.ts');\n`,
      'packages/engine/test/cluster/kill.test.ts': `import './process.ts';\n`,
      'packages/engine/test/cluster/process.ts': `import { fork } from 'node:child_process';\n`,
      'packages/lab/test/run.test.ts': `import * as engine from '@a/engine';\n`,
      'packages/lab/test/claim.test.ts': `import { add } from '@a/engine';\n`,
    }),
  );
  expect(of).toEqual({
    fast: [
      'packages/engine/test/add.test.ts',
      'packages/engine/test/type.test.ts',
      'packages/lab/test/claim.test.ts',
    ],
    engine: ['packages/engine/test/late.test.ts', 'packages/engine/test/open.test.ts'],
    system: ['packages/engine/test/cluster/kill.test.ts', 'packages/lab/test/run.test.ts'],
  });
});
