/** What an instance did between two readings: units of work, and the time that they took. */
import type { Instance } from '@shardlab/engine';

export interface Sample {
  /** Messages of acknowledged transactions. */
  messagesIn: number;
  messagesOut: number;
  transactions: number;
  groups: number;
  /** CPU of the session thread, of the writer thread, and of all other threads of the process, µs. */
  sessionUs: number;
  writerUs: number;
  otherUs: number;
  wallUs: number;
}

export function readSample(instance: Instance): Sample {
  const { enqueued, consumed, commits, groups, cpu } = instance.stats();
  const { user, system } = process.cpuUsage();
  return {
    messagesIn: enqueued,
    messagesOut: consumed,
    transactions: commits,
    groups,
    sessionUs: cpu.sessionUs,
    writerUs: cpu.writerUs,
    otherUs: user + system - cpu.sessionUs - cpu.writerUs,
    wallUs: performance.now() * 1000,
  };
}

export function sampleBetween(before: Sample, after: Sample): Sample {
  const names = Object.keys(before) as (keyof Sample)[];
  return Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as unknown as Sample;
}
