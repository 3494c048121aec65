/** The systems of the programs with one client process: those that need no second one. */
import { systems } from '../../systems/systems.ts';

export const completionSystems = systems.filter(({ instances }) => instances === 1).map(({ info }) => info);
