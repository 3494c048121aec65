/**
 * The package of the engine, built, packed and used by a program in an empty folder outside the repository. By default it is unpacked and
 * finds its dependencies in this repository, so that the test needs no network. `SHARDLAB_NODES`, a list of paths of Node
 * binaries with commas, runs the programs on each of these, with what `npm install` installs.
 */
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const nodes = process.env.SHARDLAB_NODES?.split(',');

/** As for a user: without what `npm test` preloads. */
const env = { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: undefined };

let project: string;
let packed: { filename: string; files: { path: string }[]; unpackedSize: number };

function run(program: string, args: string[], cwd = project) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

function expectRun(program: string, args: string[], cwd?: string): string {
  const { status, stdout, stderr } = run(program, args, cwd);
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

/** Links a package of this repository into a project. */
function link(folder: string, name: string): void {
  mkdirSync(join(folder, 'node_modules', name, '..'), { recursive: true });
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
}

const write = (name: string, text: string) => writeFileSync(join(project, name), text);

/** The program that the README prints. */
function readmeProgram(): string {
  const [, program] = /^## A queue in your program\n[\s\S]*?^```js\n([\s\S]*?)^```/m.exec(
    readFileSync(join(root, 'README.md'), 'utf8'),
  )!;
  return program!;
}

async function bundle(file: string, format: 'esm' | 'cjs'): Promise<string> {
  const outfile = join('out', `${file.replace(/\.\w+$/, '')}.${format === 'esm' ? 'mjs' : 'cjs'}`);
  const external = ['better-sqlite3']; // it has a native part
  const entryPoints = [file];
  await build({
    absWorkingDir: project,
    entryPoints,
    bundle: true,
    platform: 'node',
    format,
    external,
    outfile,
  });
  return outfile;
}

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'shardlab-package-'));
  const built = join(project, 'built');
  expectRun(process.execPath, [join(root, 'scripts', 'build-engine.mjs'), built]);
  [packed] = JSON.parse(expectRun('npm', ['pack', '--json', built])) as [typeof packed];
  const tarball = `./${packed.filename}`;
  write('package.json', '{ "private": true, "type": "module" }');
  if (nodes === undefined) {
    const target = join(project, 'node_modules', '@shardlab', 'engine');
    mkdirSync(target, { recursive: true });
    expectRun('tar', ['-xzf', tarball, '--strip-components=1', '-C', target]);
    const { dependencies } = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8'));
    for (const name of Object.keys(dependencies)) link(project, name);
  } else expectRun('npm', ['install', tarball, '--no-audit', '--no-fund']);
  await rm(built, { recursive: true });
  for (const name of ['readme.mjs', 'readme.ts']) write(name, readmeProgram());
  write(
    'first.mjs',
    `
    import { openQueue } from '@shardlab/engine';
    openQueue({ dir: process.argv[2], name: 'orders' }).then(async (queue) => {
      for (let sent = 0; sent < 500; sent += 1) await queue.enqueue({ payload: 'one' });
      console.log(queue.info().ready);
      await queue.close();
    });`,
  );
  copyFileSync(join(root, 'scripts', 'test', 'package', 'start-all.mjs'), join(project, 'start-all.mjs'));
}, 120_000);

afterAll(() => rm(project, { recursive: true, force: true }));

test('the package has code and types only, and is small', () => {
  const extensions = new Set(packed.files.map(({ path }) => path.replace(/^.*?(?=(\.d)?\.\w+$)/, '')));
  expect(extensions).toEqual(new Set(['.js', '.d.ts', '.json', '.md', 'LICENSE']));
  expect(packed.files.map(({ path }) => path).filter((path) => /test|bench/.test(path))).toEqual([]);
  expect(packed.unpackedSize).toBeLessThan(2_000_000);
});

test('packing the sources is refused', () => {
  const { status, stderr } = run('npm', ['pack', '--dry-run', join(root, 'packages', 'engine')]);
  expect(status).not.toBe(0);
  expect(stderr).toContain('npm run package');
});

describe.each(nodes ?? [process.execPath])('on %s', (node) => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(project, 'data-'));
  });

  test('the lines of the README run as printed, from JavaScript, from TypeScript and out of a bundle', async () => {
    for (const program of ['readme.mjs', 'readme.ts', await bundle('readme.ts', 'esm')])
      await expectConsumed(node, program);
  });

  test('every thread and process starts out of a bundle in the format of CommonJS', async () => {
    const output = expectRun(node, [await bundle('start-all.mjs', 'cjs'), dir]);
    expect(JSON.parse(output)).toEqual({ browsed: 1, faults: [], payload: 'parcel' });
  });

  test('a program on the command line can use it', () => {
    const program = `import { openQueue } from '@shardlab/engine';
      const queue = await openQueue({ dir: '${join(dir, 'eval')}', name: 'orders' });
      console.log(await queue.enqueue({ payload: 'one' }));
      await queue.close();`;
    expect(expectRun(node, ['--input-type=module', '--eval', program])).toBe("[ '100.1' ]\n");
  });

  test('nothing needs Atomics.pause, which Node 22 lacks', () => {
    write('no-pause.cjs', 'delete Atomics.pause;');
    expect(expectRun(node, ['--require', './no-pause.cjs', 'first.mjs', join(dir, 'no-pause')])).toBe(
      '500\n',
    );
  });

  test('a Node that lacks more is refused before a file is written', () => {
    write('old.cjs', 'delete process.threadCpuUsage;');
    const { status, stderr } = run(node, ['--require', './old.cjs', 'first.mjs', join(dir, 'old')]);
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/needs Node 22.*NODE_UNSUPPORTED/s),
    });
    expect(existsSync(join(dir, 'old'))).toBe(false);
  });

  test('a bundle without the package says what to install, before a file is written', async () => {
    const alone = await mkdtemp(join(tmpdir(), 'shardlab-bundle-'));
    try {
      link(alone, 'better-sqlite3');
      copyFileSync(join(project, await bundle('first.mjs', 'esm')), join(alone, 'first.mjs'));
      const { status, stderr } = run(node, ['first.mjs', './data'], alone);
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringMatching(/install @shardlab\/engine@.*PROGRAMS_NOT_FOUND/s),
      });
      expect(await readdir(alone)).toEqual(['first.mjs', 'node_modules']);
    } finally {
      await rm(alone, { recursive: true });
    }
  });
});

/** Starts a program that consumes for ever; ends it when it has consumed the message of the README. */
async function expectConsumed(node: string, program: string): Promise<void> {
  await rm(join(project, 'data'), { recursive: true, force: true });
  const child = spawn(node, [program], { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    if (output.includes('\n')) child.kill('SIGKILL');
  });
  await ended;
  expect(output).toBe('{"order":42}\n');
}

describe('types', () => {
  beforeAll(() => {
    if (nodes !== undefined) expectRun('npm', ['install', '@types/node', '--no-audit', '--no-fund']);
    else for (const name of ['@types/node', 'undici-types']) link(project, name);
    write(
      'program.ts',
      `${readmeProgram()}
      import { openThreadSession } from '@shardlab/engine/thread-session';
      export const session: Promise<{ close(): unknown }> = openThreadSession(queue.info() as never);
    `,
    );
  });

  test.each([
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ])(
    'a program compiles with module %s, resolution %s, and libraries checked',
    (module, moduleResolution) => {
      const compilerOptions = {
        module,
        moduleResolution,
        target: 'es2022',
        strict: true,
        skipLibCheck: false,
        noEmit: true,
      };
      write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['program.ts'] }));
      expectRun(join(root, 'node_modules', '.bin', 'tsc'), ['-p', project]);
    },
  );
});
