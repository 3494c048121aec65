/** Adds figures to a trial from the measurements that the run made beside it. Pure. */
import { type KilledTrial, type Params, pointKey, type Scenario } from '@shardlab/contract';
import type { KilledPoint, LoopCell, Program } from '../programs/program.ts';
import type { RawShape, Surrounded } from '../surroundings/surroundings.ts';
import { loops } from '../systems/systems.ts';
import type { MeasuredRepeat, Trial, TrialOutcome } from '../trial/trial.ts';
import type { Durability } from './point.ts';

/**
 * The outcome with its disturbance, and of each probe of a rate the mean, such as `rawPerSec`, and the rate of the trial as a share of it,
 * such as `rawRatio`. That rate is the program's first figure.
 */
export function withShares(
  { result, disturbance, perSec }: Surrounded<TrialOutcome>,
  { figures }: Pick<Program, 'figures'>,
): MeasuredRepeat {
  const means = Object.entries(perSec).map(
    ([name, [before, after]]) => [name, (before + after) / 2] as const,
  );
  return { ...result, figures: figuresWithShares(result, figures[0]!.name, means), disturbance };
}

/**
 * The same with the loops that the run itself measures as systems, in the same repeat at the same parameters, before the others: the
 * systems of one combination follow each other.
 */
export function withSharesOfLoops(
  trial: Trial,
  repeat: MeasuredRepeat,
  { figures, loopCell }: Pick<Program, 'figures' | 'loopCell'>,
  measured: ReadonlyMap<string, readonly MeasuredRepeat[]>,
): MeasuredRepeat {
  if (loopCell === undefined) return repeat;
  const rate = figures[0]!.name;
  const rates = loops.flatMap(({ driver: system, probe }): [string, number][] => {
    const ofLoop = measured.get(pointKey({ ...trial, system }))?.[trial.repeat]?.figures[rate];
    return ofLoop === undefined || `${probe}PerSec` in repeat.figures ? [] : [[probe, ofLoop]];
  });
  return { ...repeat, figures: figuresWithShares(repeat, rate, rates) };
}

function figuresWithShares(
  { figures }: Pick<TrialOutcome, 'figures'>,
  rateName: string,
  rates: readonly (readonly [probe: string, perSec: number])[],
): TrialOutcome['figures'] {
  const rate = figures[rateName];
  if (rate === undefined) return figures;
  const shares = rates
    .filter(([, perSec]) => perSec > 0)
    .flatMap(([probe, perSec]) => [
      [`${probe}PerSec`, perSec],
      [`${probe}Ratio`, rate / perSec],
    ]);
  return { ...figures, ...Object.fromEntries(shares) };
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

/** The bounds beside a trial; null if the scenario requests no probes, or they cannot be compared with it. */
export const loopCellOf = (
  { probes = false }: Pick<Scenario, 'probes'>,
  { loopCell }: Pick<Program, 'loopCell'>,
  params: Params,
): LoopCell | null => (probes === false ? null : (loopCell?.(params) ?? null));

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
