/**
 * The array that also writes each message, to where nothing is kept: what the kernel counts is what a queue would write, so only a kill
 * finds it out.
 */
import { openSync, writeSync } from 'node:fs';
import { devNull } from 'node:os';
import type { OpenHost } from '../../programs/queue/trial/host.ts';
import { openMemoryArray } from './memory-array.ts';

export const openHost: OpenHost = async (config, clock) => {
  const nowhere = openSync(devNull, 'w');
  return openMemoryArray(config, clock, {
    write: (payloads) => {
      for (const payload of payloads) writeSync(nowhere, payload);
    },
  });
};
