/** Servers from the system's packages, where the lab can install them: as root on Debian. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import type { System } from './system.ts';

export const isRootOnDebian = (): boolean => process.getuid?.() === 0 && existsSync('/etc/debian_version');

const installMsMax = 10 * 60_000;

/** A package that could not be installed would fail for the same reason a second time, so a process tries each of them once. */
const tried = new Set<string>();

/** Whether `installServers` would try to install the package. */
export const canInstall = (aptPackage: string, mayInstall = isRootOnDebian): boolean =>
  mayInstall() && !tried.has(aptPackage);

/**
 * Installs the packages of servers that this machine lacks; `say` is told of each before, because it takes up to minutes. One that
 * cannot be installed remains missing. Not interrupted: that could leave a package half installed.
 */
export async function installServers(
  named: readonly System[],
  say: (sentence: string) => void,
  mayInstall?: () => boolean,
): Promise<void> {
  const packages = named.flatMap(({ server }) =>
    server !== null && server.aptPackage !== null && server.version() === null ? [server.aptPackage] : [],
  );
  for (const aptPackage of new Set(packages)) {
    if (!canInstall(aptPackage, mayInstall)) continue;
    tried.add(aptPackage);
    say(`Installing the Debian package ${aptPackage}`);
    // Without the network the lists of packages stay as they are, and may do.
    await aptGet(['update']);
    await aptGet(['install', '-y', '--no-install-recommends', aptPackage]);
  }
}

const run = promisify(execFile);

async function aptGet(args: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', args, { env, timeout: installMsMax, maxBuffer: Number.POSITIVE_INFINITY }).catch(
    () => {}, // what is still missing is said by `missingOf`
  );
}
