/** The array behind clients that set the pace: a session commits 900 messages a second at most, whatever the others do. */
import type { OpenHost } from '../../programs/queue/trial/host.ts';
import { openMemoryArray } from './memory-array.ts';

const messagesPerSec = 900;

export const openHost: OpenHost = async (config, clock) =>
  openMemoryArray(config, clock, { operationsPerSec: messagesPerSec, eachSession: true });
