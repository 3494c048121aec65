/** A counter in memory: as fast as its timer, and nothing is written. */
import type { OpenHost } from '../../programs/queue/trial/host.ts';
import { openMemoryArray } from './memory-array.ts';

export const openHost: OpenHost = async (config, clock) => openMemoryArray(config, clock);
