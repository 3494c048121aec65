/** The kernel's counters of a trial's processes over its measured window, read by the coordinator, which is not among them. */

import type { Clock } from '../../../meters/clock.ts';
import {
  type KernelCounters,
  kernelFigures,
  readKernelCounters,
} from '../../../surroundings/kernel-counters.ts';
import type { Timeline } from './protocol.ts';

export class KernelWindow {
  readonly #timers: NodeJS.Timeout[];
  #begin: KernelCounters | null = null;
  #end: KernelCounters | null = null;

  /** `pids`: of the processes that host the instances. */
  constructor(pids: readonly number[], { measureAtMs, stopAtMs }: Timeline, clock: Clock) {
    const at = (atMs: number, act: () => void) => setTimeout(act, Math.max(0, atMs - clock()));
    this.#timers = [
      at(measureAtMs, () => {
        this.#begin = readKernelCounters(pids, clock());
      }),
      at(stopAtMs, () => {
        this.#end = readKernelCounters(pids, clock());
      }),
    ];
  }

  /** Empty where the platform has no such counters. */
  figures(): Record<string, number> {
    return kernelFigures(this.#begin, this.#end);
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
