/** The systems of the programs with one client process: systems that need only one. */
import { systems } from '../../systems/systems.ts';

export const completionSystems = systems.filter(({ instances }) => instances === 1).map(({ info }) => info);
