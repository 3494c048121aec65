/** Runs analytic systems through the harness: the plan of a scenario, an outcome for each trial, a point for each combination. */
import type { Point, Scale, Scenario } from '@shardlab/contract';
import { Random } from '@shardlab/model';
import { queueParamsOf } from '../programs/queue/points/queue-params.ts';
import { planRun } from '../run/plan-run.ts';
import { summarisePoint } from '../run/point.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';
import type { TrialOutcome } from '../trial/trial.ts';
import { type AnalyticSystem, outcomeOf } from './analytic-system.ts';

export interface MeasureOptions {
  scenario: Scenario;
  scale: Scale;
  /** Analytic systems by name; systems of the scenario without one are left out. */
  systems: Readonly<{ [system: string]: AnalyticSystem | undefined }>;
  seed: number;
  studies?: StudyRegistry;
}

/** A formula cannot be killed. Impostors count as having survived, so that judges must recognise them by their measurements. */
const killSurvived = { durability: 'shown' };

/** Of programs that load one instance at a given rate, and name neither instances nor threads: they have as many sessions by default. */
const loadParams = { instances: 1, threads: 16 };

/** Repeats are the outermost loop, as in a run. */
export function measure({
  scenario,
  scale,
  systems,
  seed,
  studies = bundledStudies,
}: MeasureOptions): Point[] {
  const { program, trials, phases, repeats } = planRun(scenario, scale, studies);
  const chance = new Random(seed);
  const combinations = trials
    .slice(0, trials.length / repeats)
    .map((trial) => ({ ...trial, outcomes: [] as TrialOutcome[], behave: systems[trial.system] }));
  for (let repeat = 0; repeat < repeats; repeat++)
    for (const { params, outcomes, behave } of combinations)
      if (behave !== undefined) {
        const typed = { ...loadParams, ...params };
        const behaviour = behave(queueParamsOf(typed), chance, scenario);
        outcomes.push(outcomeOf(typed, behaviour, { ...scenario, phases }));
      }
  return (
    combinations
      .filter(({ outcomes }) => outcomes.length > 0)
      // Judges read the point, and examine it themselves.
      .map((combination) => summarisePoint(combination, combination.outcomes, { figures: program.figures }))
      .map((point) => ({ ...point, integrity: Object.assign({ ...point.integrity }, killSurvived) }))
  );
}
