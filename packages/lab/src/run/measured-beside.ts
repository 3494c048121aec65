/** Adds figures to a trial from the measurements that the run made beside it. Pure. */
import type { KilledTrial, Params, Scenario } from '@shardlab/contract';
import type { KilledPoint, Program } from '../programs/program.ts';
import type { RawShape, Surrounded } from '../surroundings/surroundings.ts';
import type { MeasuredRepeat, TrialOutcome } from '../trial/trial.ts';
import type { Durability } from './point.ts';

/**
 * The outcome with its disturbance and, if there were raw probes, their mean as `rawPerSec` and the rate as a share of it
 * as `rawRatio`. The rate is the program's first figure.
 */
export function withRawRatio(
  { result, disturbance, rawPerSec }: Surrounded<TrialOutcome>,
  { figures }: Pick<Program, 'figures'>,
): MeasuredRepeat {
  const rate = result.figures[figures[0]!.name];
  if (rawPerSec === undefined || rate === undefined) return { ...result, disturbance };
  const mean = (rawPerSec[0] + rawPerSec[1]) / 2;
  const raw = { rawPerSec: mean, rawRatio: rate / mean };
  return { ...result, figures: { ...result.figures, ...raw }, disturbance };
}

/** The raw loop beside a trial: the one that the scenario specifies, or else the program's; null if there is none. */
export function probeOf(
  { probes = false }: Pick<Scenario, 'probes'>,
  { rawShape }: Pick<Program, 'rawShape'>,
  params: Params,
): RawShape | null {
  const usual = probes === false ? undefined : rawShape?.(params);
  if (usual === undefined) return null;
  return probes === true ? usual : { ...usual, ...(probes as Exclude<Scenario['probes'], boolean>) };
}

/** A kill before anything was acknowledged shows nothing. */
export function durabilityOf(
  point: KilledPoint,
  { kill }: Pick<Program, 'kill'>,
  killed: KilledTrial | undefined,
): Durability {
  if (kill !== undefined && !kill.isPromised(point))
    return { evidence: 'not promised', ...(killed === undefined ? {} : { killed }) };
  if (killed === undefined) return { evidence: 'not sampled' };
  if (killed.enqueued === 0) return { evidence: 'not sampled', killed };
  const faults = killed.lost + killed.duplicated + killed.damaged + killed.outOfOrder;
  return { evidence: faults === 0 ? 'shown' : 'not shown', killed };
}
