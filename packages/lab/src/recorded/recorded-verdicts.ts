/** What the recorded runs say of the claims, for a machine that has not judged them itself. */
import type { Environment } from '@shardlab/contract';
import { type StoredVerdict, verdictsOf } from '../judging/verdict-history.ts';
import { bundledStudies } from '../studies/registry.ts';
import { listRecorded } from './recorded-run.ts';

export interface RecordedVerdict extends StoredVerdict {
  /** On which machine, in words: "2 × Intel Xeon, ext4, 2026-11-21". */
  recordedOn: string;
}

/** Judged by today's judges, which may know better than those of the day of the recording. */
export function recordedVerdicts(folder?: string): RecordedVerdict[] {
  return listRecorded(folder).flatMap(({ run }) => {
    const { scenario, points, environment, endedAtMs } = run;
    const claims = bundledStudies.judge(scenario.claims, points, environment ?? { cores: null });
    const recordedOn = machineInWords(environment, endedAtMs ?? run.createdAtMs);
    return verdictsOf({ ...run, claims, scenarioId: scenario.id }).map((verdict) => ({
      ...verdict,
      recordedOn,
    }));
  });
}

function machineInWords(environment: Environment | null, atMs: number): string {
  const date = new Date(atMs).toISOString().slice(0, 10);
  if (environment === null) return `an unknown machine, ${date}`;
  const { cores, cpuModel, fileSystem } = environment;
  return `${cores} × ${cpuModel}, ${fileSystem}, ${date}`;
}
