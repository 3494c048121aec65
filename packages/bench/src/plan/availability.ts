/** Determines which systems are available on this machine, and why the others are not. */
import { clientPackageVersion, installClientPackages } from '@shardlab/lab';
import type { System } from '../drivers/systems.ts';

/** A system that is not available, and the reason. */
export interface Absence {
  driver: string;
  durability: string;
  reason: string;
}

export interface Availability {
  present: System[];
  absent: Absence[];
  /** Versions of servers and client libraries. */
  versions: Record<string, string>;
}

/** Installs the peers' client libraries if one of the systems needs them. Never throws: a system with missing parts is absent. */
export function availabilityOf(systems: readonly System[], install = installClientPackages): Availability {
  const versions: Record<string, string> = {};
  const absent: Absence[] = [];
  const needsPackages = systems.some(({ packages }) => packages.length > 0);
  const withoutPackages = needsPackages ? install() : null;
  const present = systems.filter((system) => {
    const reason = absenceOf(system, withoutPackages);
    const { driver, durability, server, packages } = system;
    if (reason !== null) absent.push({ driver, durability, reason });
    else {
      if (server?.aptPackage) versions[server.aptPackage] = server.version()!;
      for (const name of packages) versions[name] = clientPackageVersion(name);
    }
    return reason === null;
  });
  return { present, absent, versions };
}

function absenceOf({ server, packages, durability }: System, withoutPackages: string | null): string | null {
  if (server?.version() === null) {
    return `${server.aptPackage} is not installed (Debian: apt-get install ${server.aptPackage})`;
  }
  if (packages.length > 0 && withoutPackages !== null) return withoutPackages;
  return server?.refuses?.(durability) ?? null;
}
