/** The array behind a limiter of 6,000 messages a second, in and out. Its sessions say that they wait for a write lock. */
import type { OpenHost } from '../../programs/queue/trial/host.ts';
import { openMemoryArray } from './memory-array.ts';

const messagesPerSec = 6_000;

export const openHost: OpenHost = async (config, clock) =>
  openMemoryArray(config, clock, { operationsPerSec: 2 * messagesPerSec });
