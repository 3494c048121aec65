/** Places that a command is to write are tried before anything is measured, and nothing is left behind. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { makeFolder } from '../../engine/test/folder.ts';
import { runCommand } from '../src/cli/commands.ts';
import { smallScenario } from './support.ts';

let folder: string;

beforeEach(() => {
  folder = makeFolder();
  mkdirSync(join(folder, 'a-folder'));
  writeFileSync(join(folder, 'a-file'), 'kept');
  writeFileSync(join(folder, 'tiny.json'), JSON.stringify(smallScenario()));
  symlinkSync(join(folder, 'not-mounted', 'data'), join(folder, 'dangling'));
  vi.stubEnv('INIT_CWD', folder);
  vi.stubEnv('DATA_DIR', 'kept');
  onTestFinished(() => void vi.unstubAllEnvs());
});

async function lab(...args: string[]): Promise<{ code: number; said: string }> {
  let said = '';
  const listen = (stream: NodeJS.WriteStream) =>
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      said += String(text);
      return true;
    });
  const spies = [listen(process.stdout), listen(process.stderr)];
  try {
    return { code: await runCommand(args), said };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const unwritable: [string, string[], string][] = [
  [
    'a result that is a folder',
    ['run', 'tiny.json', '--json', 'a-folder'],
    'a-folder cannot be written: it is a folder',
  ],
  ['a result below a file', ['run', 'tiny.json', '--json', 'a-file/x.json'], 'a-file is no folder'],
  ['results below a file', ['run', 'tiny.json', 'tiny.json', '--json', 'a-file'], 'a-file is no folder'],
  ['results of a study', ['study', 'white-paper', '--json', 'a-file'], 'a-file is no folder'],
  ['a report that is a folder', ['study', 'white-paper', '--write', 'a-folder'], 'it is a folder'],
  [
    'a report below nothing',
    ['model', '2-cores-ext4', '--write', 'dangling/x.md'],
    'is a link to what is not there',
  ],
  ['recorded runs', ['record', '--into', 'a-file'], 'a-file is no folder'],
  ['costs', ['calibrate', '--json', 'a-folder'], 'it is a folder'],
  ['findings', ['check', 'a-folder', '--json', 'a-file/x'], 'a-file is no folder'],
  ['a conversion', ['convert', 'a-folder', 'orders', '--json', 'a-folder'], 'it is a folder'],
  ['pairs', ['pairs', '.', '.', '--json', 'a-folder'], 'it is a folder'],
  [
    'data through a link to nothing',
    ['run', 'tiny.json', '--data-dir', 'dangling'],
    'is a link to what is not there',
  ],
  ['data below a file', ['record', '--data-dir', 'a-file/data'], 'not a directory'],
];

describe('a place that cannot be written ends the command with one sentence and exit code 2', () => {
  test.each(unwritable)('%s', async (_what, args, sentence) => {
    const before = readdirSync(folder, { recursive: true }).sort();
    const { code, said } = await lab(...args);
    expect({ code, said }).toEqual({ code: 2, said: expect.stringContaining(sentence) });
    expect(said.trim().split('\n')).toHaveLength(1);
    expect(readdirSync(folder, { recursive: true }).sort()).toEqual(before);
  });

  test.skipIf(!existsSync('/proc/self'))('a folder that the system cannot make never loops', async () => {
    for (const args of [
      ['run', 'tiny.json', '--data-dir', '/proc/data'],
      ['run', 'tiny.json', '--json', '/proc/out/x.json'],
    ])
      expect(await lab(...args)).toMatchObject({
        code: 2,
        said: expect.stringContaining('cannot be written'),
      });
  });

  test.each(['scripts/torture.mjs', 'packages/lab/src/soak/main.ts'])(
    '%s, and nothing else of it runs',
    (program) => {
      const root = fileURLToPath(new URL('../../..', import.meta.url));
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [program, '--json', join(folder, 'a-folder')],
        { cwd: root, encoding: 'utf8', timeout: 30_000 },
      );
      const said = `${join(folder, 'a-folder')} cannot be written: it is a folder\n`;
      expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: said });
    },
  );

  test.skipIf(process.getuid?.() === 0)('a file that the user may not write', async () => {
    chmodSync(join(folder, 'a-file'), 0o400);
    expect(await lab('run', 'tiny.json', '--json', 'a-file')).toMatchObject({
      code: 2,
      said: expect.stringContaining('a-file cannot be written'),
    });
  });
});

test.each([
  [['claims', '--json', 'out.json'], 'claims takes only --data-dir, not --json'],
  [['list', '--quick'], 'list takes no options, not --quick'],
  [
    ['move', 'a-folder', 'orders', 'nats://127.0.0.1:1', '--json', 'x'],
    'move takes only --drain-s, not --json',
  ],
])('an option of another command is refused: %j', async (args, sentence) => {
  expect(await lab(...args)).toEqual({ code: 2, said: `${sentence}\n` });
  expect(existsSync(join(folder, 'out.json'))).toBe(false);
});

test('help is what --help is', async () => {
  expect(await lab('help')).toEqual(await lab('--help'));
});
