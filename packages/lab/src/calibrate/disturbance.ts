/** How much of the machine's CPU went to other processes meanwhile: a figure taken beside them is not the machine's. */
import { cpus } from 'node:os';

export interface CpuReading {
  /** Of all cores, milliseconds; the system counts in steps of about ten. */
  allMs: number;
  idleMs: number;
  ownMs: number;
}

export function readCpu(): CpuReading {
  const { user, system } = process.cpuUsage();
  let [allMs, idleMs] = [0, 0];
  for (const { times } of cpus()) {
    allMs += times.user + times.nice + times.sys + times.idle + times.irq;
    idleMs += times.idle;
  }
  return { allMs, idleMs, ownMs: (user + system) / 1000 };
}

/** Share of the machine's CPU since then that was neither idle nor this process's, 0 to 1. */
export function disturbanceSince(before: CpuReading): number {
  const after = readCpu();
  const all = after.allMs - before.allMs;
  const others = all - (after.idleMs - before.idleMs) - (after.ownMs - before.ownMs);
  return all <= 0 ? 0 : Math.min(1, Math.max(0, others / all));
}

/** Under this, the system's own work and the steps of its clock; over it, a slice is measured again. */
const quiet = 0.12;
/** After so many times the slices asked for, the least disturbed have to do. */
const patience = 4;

export interface Slice<T> {
  result: T;
  disturbance: number;
}

/** So many slices that others disturbed least, of a few times as many at most. */
export async function leastDisturbed<T>(count: number, slice: () => Promise<T>): Promise<Slice<T>[]> {
  const slices: Slice<T>[] = [];
  const quietOnes = () => slices.filter(({ disturbance }) => disturbance <= quiet).length;
  while (quietOnes() < count && slices.length < count * patience) {
    const before = readCpu();
    const result = await slice();
    slices.push({ result, disturbance: disturbanceSince(before) });
  }
  return slices.sort((a, b) => a.disturbance - b.disturbance).slice(0, count);
}
