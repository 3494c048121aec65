/**
 * Code of an application that keeps the event loop of a cluster's process from turning, without taking a core: an extension that does
 * so while it starts, and a service that does so in a call.
 */
import type { Json, ProcessExtension, ProcessHost, SingletonService } from '../../src/index.ts';

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** `options`: for how many milliseconds. */
export function createExtension(_host: ProcessHost, options: Json): ProcessExtension {
  block(Number(options));
  return { close: async () => undefined };
}

export function createService(): SingletonService {
  return {
    activate: () => undefined,
    deactivate: () => undefined,
    calls: {
      block: (ms: Json): Json => {
        block(Number(ms));
        return process.pid;
      },
    },
  };
}
