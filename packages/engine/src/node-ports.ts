/**
 * The ports of a real process: Node's clocks, timers and random bytes. Nothing else in the engine uses these directly.
 */
import { randomBytes } from 'node:crypto';
import type { InstancePorts, Timer } from './model/ports.ts';
import { nodeClocks } from './node-clocks.ts';
import { nodeProcesses } from './node-processes.ts';

export const nodePorts: InstancePorts = {
  ...nodeClocks,
  timers: {
    after: (ms, callback) => timerOf(setTimeout(callback, ms).unref()),
    deadline: (ms, callback) => timerOf(setTimeout(callback, ms)),
    every: (ms, callback) => timerOf(setInterval(callback, ms).unref()),
    nextTurn: setImmediate,
  },
  random: { bytes: (count) => randomBytes(count) },
  processes: nodeProcesses,
};

function timerOf(timeout: NodeJS.Timeout): Timer {
  return { cancel: () => clearTimeout(timeout) };
}
