/** How busy the machine is, from the times of its cores. */
import { cpus } from 'node:os';

/** Times of all cores together since the machine was started, milliseconds. */
export interface CpuTimes {
  cores: number;
  allMs: number;
  busyMs: number;
}

export function readCpu(): CpuTimes {
  const cores = cpus();
  const sum = (read: (times: (typeof cores)[number]['times']) => number) =>
    cores.reduce((total, { times }) => total + read(times), 0);
  const busyMs = sum(({ user, nice, sys, irq }) => user + nice + sys + irq);
  return { cores: Math.max(1, cores.length), allMs: busyMs + sum(({ idle }) => idle), busyMs };
}

/** Cores kept busy between two readings, 0 to the number of cores. */
export function coresBusy(before: CpuTimes, after: CpuTimes): number {
  const allMs = after.allMs - before.allMs;
  if (allMs <= 0) return 0;
  return Number((((after.busyMs - before.busyMs) / allMs) * after.cores).toFixed(2));
}
