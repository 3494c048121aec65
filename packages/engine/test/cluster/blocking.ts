/**
 * Code of an application that keeps the event loop of a cluster's process from turning, without taking a core: an extension that does
 * so while it starts, and a service that does so in a call.
 */
import { existsSync } from 'node:fs';
import type { Json, ProcessExtension, ProcessHost, SingletonService } from '../../src/index.ts';

const word = new Int32Array(new SharedArrayBuffer(4));
const blockMsMax = 25_000;
const pollMs = 20;

/** `options`: for how many milliseconds. */
export function createExtension(_host: ProcessHost, options: Json): ProcessExtension {
  Atomics.wait(word, 0, 0, Number(options));
  return { close: async () => undefined };
}

export function createService(): SingletonService {
  return {
    activate: () => undefined,
    deactivate: () => undefined,
    calls: {
      /** Until the file exists. */
      block: (file: Json): Json => {
        for (let ms = 0; ms < blockMsMax && !existsSync(String(file)); ms += pollMs)
          Atomics.wait(word, 0, 0, pollMs);
        return process.pid;
      },
    },
  };
}
