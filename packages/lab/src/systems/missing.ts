/** Requirements of systems that this machine lacks: checked before a run, so that no trial fails for that reason after an hour. */

import { canInstall, installServers } from './debian-packages.ts';
import { clientPackagesCommand, hasClientPackages } from './peers/client-packages.ts';
import type { System } from './system.ts';
import { systemOf } from './systems.ts';

export interface MissingOptions {
  /** That of the run's data, once there is one: then servers are asked whether they can use it. */
  folder?: string;
  /** Leaves out what `installFor` would install. */
  ignoreInstallable?: boolean;
}

/** Why the named systems cannot run, a sentence for each reason. */
export const missingFor = (ids: readonly string[], options?: MissingOptions): string[] =>
  missingOf(ids.map(systemOf), options);

/** Installs servers of the named systems from the system's packages, where they are missing and this process may. */
export const installFor = (ids: readonly string[], say: (sentence: string) => void): Promise<void> =>
  installServers(ids.map(systemOf), say);

export function missingOf(
  named: readonly System[],
  options: MissingOptions = {},
  hasPackages: () => boolean = hasClientPackages,
): string[] {
  const lacksPackages = named.some(({ packages }) => packages.length > 0) && !hasPackages();
  const reasons = named.flatMap((system) =>
    reasonsAgainst(system, { ...options, lacksPackages }).map((reason) => ({ id: system.info.id, reason })),
  );
  return [...Map.groupBy(reasons, ({ reason }) => reason)].map(
    ([reason, those]) =>
      `${those.map(({ id }) => id).join(', ')} ${those.length === 1 ? 'needs' : 'need'} ${reason}`,
  );
}

/** Each completes "redis-snapshot needs …". */
function reasonsAgainst(
  { server, durability, packages }: System,
  { folder, ignoreInstallable = false, lacksPackages }: MissingOptions & { lacksPackages: boolean },
): string[] {
  const libraries =
    packages.length > 0 && lacksPackages ? [`its client library; ${clientPackagesCommand}`] : [];
  if (server === null) return libraries;
  if (server.version() === null) {
    const { aptPackage, install = `${aptPackage}; Debian: apt-get install ${aptPackage}` } = server;
    if (ignoreInstallable && aptPackage !== null && canInstall(aptPackage)) return libraries;
    return [install, ...libraries];
  }
  const refusals = [
    server.refuses?.(durability),
    folder === undefined ? null : server.refusesFolder?.(folder),
  ].filter((refusal) => typeof refusal === 'string');
  return [...refusals, ...libraries];
}
