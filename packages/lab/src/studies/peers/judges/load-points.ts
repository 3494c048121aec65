/** Points of the programs that load a system for a time, and the values that judges read from them. */
import type { Point } from '@shardlab/contract';
import { closedLoopParamsOf, type schedules } from '../../../programs/load/load-params.ts';
import { engineServer } from '../../../systems/engine-server.ts';
import type { System } from '../../../systems/system.ts';
import { systems } from '../../../systems/systems.ts';

export const closedLoopPoints = (points: readonly Point[], schedule: (typeof schedules)[number]): Point[] =>
  points.filter(
    ({ program, params }) => program === 'closed-loop' && closedLoopParamsOf(params).schedule === schedule,
  );

const idsOf = (isMeant: (system: System) => boolean): ReadonlySet<string> =>
  new Set(systems.filter(isMeant).map(({ info }) => info.id));

/** Systems with our sessions and our queue in separate processes, like those of the servers, with and without prefetch. */
export const ourRemote = idsOf(({ driver }) => driver === 'sharded-remote' || driver === 'sharded-prefetch');
const isPeer = ({ server }: System) => server !== null && server !== engineServer;
export const serverPeers = idsOf(isPeer);
export const syncedServerPeers = idsOf((system) => isPeer(system) && system.synced);
export const syncedPlainjob = idsOf(({ driver, synced }) => driver === 'plainjob' && synced);

/** The point of the named systems with the highest value of a figure, or the lowest. */
export function bestOf(
  points: readonly Point[],
  among: ReadonlySet<string>,
  { figure, wanted }: { figure: string; wanted: 'highest' | 'lowest' },
): Point | null {
  const sign = wanted === 'highest' ? 1 : -1;
  const [best] = points
    .filter(({ system, figures }) => among.has(system) && figures[figure] !== undefined)
    .toSorted((a, b) => sign * (b.figures[figure]!.value - a.figures[figure]!.value));
  return best ?? null;
}
