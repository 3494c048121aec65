/** Installs Schemathesis in a Python environment of its own, in the folder of generated files. */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const version = '4.32.5';
const cache = fileURLToPath(new URL('../../../../node_modules/.shardlab/', import.meta.url));
const environment = join(cache, `schemathesis-${version}`);
const program = join(environment, 'bin', 'schemathesis');

export type Installed = { program: string } | { missing: string };

/** Installs Schemathesis from PyPI at the first call, in at most `msMax`. `missing` says why it failed, as part of a sentence. */
export function installSchemathesis({ msMax }: { msMax: number }): Installed {
  if (existsSync(program)) return { program };
  const deadline = Date.now() + msMax;
  const run = (command: string, args: string[]) =>
    spawnSync(command, args, { encoding: 'utf8', timeout: Math.max(1, deadline - Date.now()) });
  if (run('python3', ['--version']).status !== 0) return { missing: 'there is no python3 on the PATH' };
  if (run('python3', ['-m', 'venv', environment]).status !== 0) {
    return remove('python3 has no module venv (on Debian: apt install python3-venv)');
  }
  // Compiling all modules takes long, and Python compiles those that are used anyway.
  const options = ['--quiet', '--no-compile', '--disable-pip-version-check', '--retries', '1'];
  const pip = ['-m', 'pip', 'install', ...options];
  const installed = run(join(environment, 'bin', 'python3'), [...pip, `schemathesis==${version}`]);
  if (installed.status === 0 && existsSync(program)) return { program };
  const [reason = 'it took too long'] = installed.stderr?.trim().split('\n').slice(-1) ?? [];
  return remove(`pip could not install schemathesis ${version} (${reason || 'it took too long'})`);
}

/** Removes what was installed in part, so that a later call starts again. */
function remove(missing: string): Installed {
  rmSync(environment, { recursive: true, force: true });
  return { missing };
}
