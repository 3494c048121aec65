/** The share of the machine's CPU that other processes used during a measurement, which they falsify. */
import { cpus } from 'node:os';

export interface CpuReading {
  /** Summed over all cores, milliseconds; the system's resolution is about 10 ms. */
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

/** Share of the machine's CPU since `start` that was neither idle nor used by this process, 0 to 1. */
export function disturbanceSince(before: CpuReading): number {
  const after = readCpu();
  const all = after.allMs - before.allMs;
  const others = all - (after.idleMs - before.idleMs) - (after.ownMs - before.ownMs);
  return all <= 0 ? 0 : Math.min(1, Math.max(0, others / all));
}

/** Below this, disturbance is explained by the system itself and the clock's resolution; above it, a slice is repeated. */
const quietDisturbanceMax = 0.12;
/** Slices are measured at most this many times as often as requested; then the least disturbed ones are used. */
const patience = 4;

export interface Slice<T> {
  result: T;
  disturbance: number;
}

/** The system's clocks are too coarse to show how much other processes disturbed a shorter slice, so it is not repeated. */
const judgedMsMin = 40;

/** Measures slices of `ms` milliseconds; returns the `count` least disturbed ones. */
export async function leastDisturbed<T>(
  { count, ms }: { count: number; ms: number },
  slice: () => Promise<T>,
): Promise<Slice<T>[]> {
  const slices: Slice<T>[] = [];
  const quietOnes = () => slices.filter(({ disturbance }) => disturbance <= quietDisturbanceMax).length;
  const slicesMax = ms < judgedMsMin ? count : count * patience;
  while (quietOnes() < count && slices.length < slicesMax) {
    const before = readCpu();
    const result = await slice();
    slices.push({ result, disturbance: disturbanceSince(before) });
  }
  return slices.sort((a, b) => a.disturbance - b.disturbance).slice(0, count);
}
