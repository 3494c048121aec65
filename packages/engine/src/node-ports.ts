/**
 * The ports of a real process: Node's clocks, timers and random bytes, as they are where that will do. The only place of the
 * engine that uses them.
 */
import { randomBytes } from 'node:crypto';
import type { InstancePorts, Timer } from './model/ports.ts';
import { nodeProcesses } from './node-processes.ts';

// `performance.now` counts the machine's monotonic clock from the start of the process; the origin is that start.
// Asking `process.hrtime` each time would cost three times as much.
const originMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export const nodePorts: InstancePorts = {
  clock: {
    epochMs: Date.now,
    monotonicMs: performance.now.bind(performance),
  },
  machineClock: { nowMs: () => originMs + performance.now() },
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
