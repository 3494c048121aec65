/** Verdicts of the recorded runs about the claims, for a machine that has not judged them itself. */
import { isDeepStrictEqual } from 'node:util';
import type { Tick } from '@shardlab/contract';
import { type StoredVerdict, verdictsOf } from '../judging/verdict-history.ts';
import { bundledStudies } from '../studies/registry.ts';
import { pointsOf, type RecordedHead, type RecordedText, writeRecorded } from './recorded-run.ts';

export interface RecordedVerdict extends StoredVerdict {
  /** The machine and date in words: "2 × Intel Xeon, ext4, 2026-11-21". */
  recordedOn: string;
}

/** Verdicts from the time of the recording, or from a later judgement. */
export function recordedVerdicts(recorded: readonly RecordedHead[]): RecordedVerdict[] {
  return recorded.flatMap(({ run }) =>
    verdictsOf({ ...run, scenarioId: run.scenario.id }).map((verdict) => ({
      ...verdict,
      recordedOn: run.recordedOn,
    })),
  );
}

/** Writes the verdicts of today's judges into the recording if they differ from its own; returns whether they did. */
export function judgeAgain(recorded: RecordedText, folder: string): boolean {
  const { code, run, ticksJson } = recorded;
  const points = pointsOf(recorded);
  const claims = bundledStudies.judge(run.scenario.claims, points, run.environment ?? { cores: null });
  // As they come back from the file: without the fields that are undefined.
  if (isDeepStrictEqual(JSON.parse(JSON.stringify(claims)), run.claims)) return false;
  writeRecorded({ code, run: { ...run, points, claims }, ticks: JSON.parse(ticksJson) as Tick[] }, folder);
  return true;
}
