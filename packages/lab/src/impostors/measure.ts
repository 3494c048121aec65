/** Runs analytic systems through the harness: the plan of a scenario, an outcome for each trial, a point for each combination. */
import type { Point, Scale, Scenario } from '@shardlab/contract';
import { Random } from '@shardlab/model';
import { queueParamsOf } from '../programs/queue/queue-params.ts';
import { planRun } from '../run/plan-run.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';
import { summarisePoint } from '../trial/point.ts';
import type { TrialOutcome } from '../trial/trial.ts';
import { type AnalyticSystem, outcomeOf } from './analytic-system.ts';

export interface MeasureOptions {
  scenario: Scenario;
  scale: Scale;
  /** By the system's name; systems of the scenario that have none are left out. */
  systems: Readonly<{ [system: string]: AnalyticSystem | undefined }>;
  seed: number;
  studies?: StudyRegistry;
}

export function measure({
  scenario,
  scale,
  systems,
  seed,
  studies = bundledStudies,
}: MeasureOptions): Point[] {
  const { program, trials, phases } = planRun(scenario, scale, studies);
  const chance = new Random(seed);
  const outcomes = new Map<string, TrialOutcome[]>();
  const combinations = new Map(trials.map((trial) => [trial.key, trial]));
  for (const { key, params, system } of trials) {
    const behave = systems[system];
    if (behave === undefined) continue;
    const behaviour = behave(queueParamsOf(params), chance, scenario);
    const kept = outcomes.get(key) ?? [];
    kept.push(outcomeOf(params, behaviour, { ...scenario, phases }));
    outcomes.set(key, kept);
  }
  return [...outcomes].map(([key, kept]) => summarisePoint(combinations.get(key)!, kept, program));
}
