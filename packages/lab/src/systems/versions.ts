/** Versions of the servers and client libraries that systems use. */
import { clientPackageVersion } from './peers/client-packages.ts';
import { systems } from './systems.ts';

/** "postgresql 15.18", "pg 8.23.1"; none for systems that are part of this repository. Starts servers to ask them. */
export function versionsOf(ids: readonly string[]): string[] {
  const used = systems.filter(({ info }) => ids.includes(info.id));
  const servers = new Set(used.flatMap(({ server }) => (server?.aptPackage ? [server] : [])));
  const packages = new Set(used.flatMap((system) => system.packages));
  return [
    ...[...servers].map((server) => `${server.aptPackage} ${server.version()}`),
    ...[...packages].map((name) => `${name} ${clientPackageVersion(name)}`),
  ];
}
