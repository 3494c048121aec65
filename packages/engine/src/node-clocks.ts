/**
 * Node's clocks, and the CPU time of the calling thread. Apart from the other ports, so that the writer and scrub threads do not load
 * random bytes and child processes, which would take a third of the CPU time of a thread's start.
 */
import type { InstancePorts } from './model/ports.ts';

// Bound once: the global `performance` is a getter, which is 8 of the 59 ns that a reading costs through it.
const monotonicMs = performance.now.bind(performance);

// `performance.now` counts the machine's monotonic clock from the start of the process; the origin is that start.
// Asking `process.hrtime` each time would cost three times as much. A thread that loses its core between the two readings has an
// origin that is too early, so the latest of several counts.
const originMs = Math.max(
  ...Array.from({ length: 5 }, () => Number(process.hrtime.bigint()) / 1e6 - monotonicMs()),
);

/** Nobody ever notifies it. */
const sleepWord = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

export const nodeClocks: Pick<InstancePorts, 'clock' | 'machineClock' | 'thread'> = {
  clock: {
    epochMs: Date.now,
    monotonicMs,
  },
  machineClock: { nowMs: () => originMs + monotonicMs() },
  thread: {
    cpuUsage: process.threadCpuUsage,
    sleep: (ms) => void Atomics.wait(sleepWord, 0, 0, ms),
    wait: Atomics.wait,
  },
};
