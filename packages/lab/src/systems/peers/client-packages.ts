/**
 * Client libraries of other queues. They are in a folder outside the workspaces, so that installing the product does not
 * fetch a hundred packages that only a comparison needs. `npm run bench` installs them; nothing else does.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../../peers', import.meta.url));
const requireClient = createRequire(join(folder, 'package.json'));

/** The line that installs them. */
export const clientPackagesCommand = 'npm install --no-save --prefix packages/lab/peers --ignore-scripts';

/** Loads a package of the folder; `T` describes the part that its driver uses. */
export function clientPackage<T>(name: string): T {
  return requireClient(name) as T;
}

export function clientPackageVersion(name: string): string {
  const text = readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Whether the packages of the lockfile are there. */
export function hasClientPackages(): boolean {
  const [wanted, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((name) =>
    join(folder, name),
  ) as [string, string];
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs;
}

/** Installs the packages of the lockfile unless present. Returns null, or why it failed. Takes seconds the first time. */
export function installClientPackages(): string | null {
  if (hasClientPackages()) return null;
  const npm = process.env.npm_execpath;
  const [command, first] =
    npm?.endsWith('npm-cli.js') === true ? [process.execPath, [npm]] : ['npm', [] as string[]];
  // `npm ci` would refuse a lockfile that lacks an optional binary of another platform.
  const args = ['install', '--no-save', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'];
  try {
    execFileSync(command, [...first, ...args, '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return null;
  } catch (error) {
    const { stderr, message } = error as { stderr?: Buffer; message: string };
    const said = (stderr?.toString() ?? '').split('\n').filter((line) => line.startsWith('npm error'));
    const why = said.slice(0, 2).map((line) => line.replace('npm error', '').trim());
    return `the client libraries could not be installed: ${why.join(', ') || message}`;
  }
}
