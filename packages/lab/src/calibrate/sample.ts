/** The work of an instance between two readings, and the time it took. */
import type { Instance } from '@shardlab/engine';
import { threadCpuUs } from '../meters/thread-cpu.ts';

export interface Sample {
  transactions: number;
  groups: number;
  /** CPU time of the session thread, the writer thread, and all other threads of the process, µs. */
  sessionUs: number;
  writerUs: number;
  otherUs: number;
  wallUs: number;
}

export function readSample(instance: Instance): Sample {
  const { commits, groups, cpu } = instance.stats();
  const sessionUs = threadCpuUs();
  const { user, system } = process.cpuUsage();
  return {
    transactions: commits,
    groups,
    sessionUs,
    writerUs: cpu.writerUs,
    otherUs: user + system - sessionUs - cpu.writerUs,
    wallUs: performance.now() * 1000,
  };
}

export function sampleBetween(before: Sample, after: Sample): Sample {
  const between = { ...after };
  for (const name of Object.keys(before) as (keyof Sample)[]) between[name] -= before[name];
  return between;
}
