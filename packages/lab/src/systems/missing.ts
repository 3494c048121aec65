/** What systems need and this machine lacks: asked before a run, because a failed trial after an hour would say the same. */
import { clientPackagesCommand, hasClientPackages } from './peers/client-packages.ts';
import type { System } from './system.ts';
import { systemOf } from './systems.ts';

/** Why the named systems cannot run, a sentence for each reason. `folder` is that of the run's data, once there is one. */
export const missingFor = (ids: readonly string[], folder?: string): string[] =>
  missingOf(ids.map(systemOf), folder);

export function missingOf(
  named: readonly System[],
  folder?: string,
  hasPackages: () => boolean = hasClientPackages,
): string[] {
  const lacksPackages = named.some(({ packages }) => packages.length > 0) && !hasPackages();
  const reasons = named.flatMap((system) =>
    reasonsAgainst(system, { folder, lacksPackages }).map((reason) => ({ id: system.info.id, reason })),
  );
  return [...Map.groupBy(reasons, ({ reason }) => reason)].map(
    ([reason, those]) =>
      `${those.map(({ id }) => id).join(', ')} ${those.length === 1 ? 'needs' : 'need'} ${reason}`,
  );
}

/** Each completes "redis-snapshot needs …". */
function reasonsAgainst(
  { server, durability, packages }: System,
  { folder, lacksPackages }: { folder: string | undefined; lacksPackages: boolean },
): string[] {
  const libraries =
    packages.length > 0 && lacksPackages ? [`its client library; ${clientPackagesCommand}`] : [];
  if (server === null) return libraries;
  if (server.version() === null) {
    const { aptPackage, install = `${aptPackage}; Debian: apt-get install ${aptPackage}` } = server;
    return [install, ...libraries];
  }
  const refusals = [
    server.refuses?.(durability),
    folder === undefined ? null : server.refusesFolder?.(folder),
  ].filter((refusal) => typeof refusal === 'string');
  return [...refusals, ...libraries];
}
