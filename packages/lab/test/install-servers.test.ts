/** A run by root on Debian installs missing servers first. In these tests a script stands in for `apt-get`. */
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const child = fileURLToPath(new URL('./run-with-stand-in-server.ts', import.meta.url));
const needs = 'redis-snapshot needs toy-server; Debian: apt-get install toy-server';

interface Answer {
  /** Messages of the runs about packages that are installed. */
  said: string[];
  runs: { status: string; message: string | null }[];
  /** The arguments of each call of `apt-get`. */
  calls: string[];
}

/** Starts two runs. `install` is the line of shell script that the stand-in for `apt-get` runs to install a package. */
async function runTwice({ mayInstall, install }: { mayInstall: boolean; install: string }): Promise<Answer> {
  const folder = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const script = ['#!/bin/sh', `echo "$@" >> ${folder}/calls`, `[ "$1" = install ] || exit 0`, install, ''];
  writeFileSync(join(folder, 'apt-get'), script.join('\n'));
  chmodSync(join(folder, 'apt-get'), 0o755);
  const { stdout } = await promisify(execFile)(process.execPath, [child, mayInstall ? 'may' : 'may not'], {
    env: { ...process.env, SERVER_FOLDER: folder, PATH: `${folder}${delimiter}${process.env.PATH}` },
  });
  const calls = join(folder, 'calls');
  return {
    ...(JSON.parse(stdout) as Omit<Answer, 'calls'>),
    calls: existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [],
  };
}

const creates = 'echo "#!/bin/sh" > "$SERVER_FOLDER/toy-server" && chmod +x "$SERVER_FOLDER/toy-server"';
const fails = 'exit 100';
const packages = ['update', 'install -y --no-install-recommends toy-server'];

test('a missing server is installed once, before the first run, which reports it', async () => {
  expect(await runTwice({ mayInstall: true, install: creates })).toEqual({
    said: ['Installing the Debian package toy-server'],
    runs: [
      { status: 'done', message: null },
      { status: 'done', message: null },
    ],
    calls: packages,
  });
}, 60_000);

test('a server that cannot be installed is tried once, and each run fails with the command that installs it', async () => {
  expect(await runTwice({ mayInstall: true, install: fails })).toEqual({
    said: ['Installing the Debian package toy-server'],
    runs: [
      { status: 'failed', message: needs },
      { status: 'failed', message: needs },
    ],
    calls: packages,
  });
}, 60_000);

test('nothing is installed without permission', async () => {
  expect(await runTwice({ mayInstall: false, install: creates })).toEqual({
    said: [],
    runs: [
      { status: 'failed', message: needs },
      { status: 'failed', message: needs },
    ],
    calls: [],
  });
}, 60_000);
