/** The plan of a run: its trials in order, and about how long they take. */
import { describeParams, type PlanFigures, pointKey, type Scale, type Scenario } from '@shardlab/contract';
import { type Combination, expandSweep, scaleScenario } from '../scenario/expand-sweep.ts';

/** One repeat of one combination. */
export interface Trial extends Combination {
  /** Position in the run, from 0. */
  index: number;
  repeat: number;
  /** Identifies the point to which the trial belongs. */
  key: string;
}

export interface RunPlan {
  trials: Trial[];
  sweep: Scenario['sweep'];
  phases: Scenario['phases'];
  repeats: number;
  /** Estimated duration of the whole run, milliseconds. */
  estimatedMs: number;
}

/**
 * The trials of a run. Repeats are the outermost loop, so that a slow minute of the machine affects one repeat of many
 * points rather than all repeats of one point.
 */
export function planRun(scenario: Scenario, scale: Scale): RunPlan {
  const { sweep, phases, repeats } = scaleScenario(scenario, scale);
  const combinations = expandSweep(scenario, scale);
  const trials: Trial[] = [];
  for (let repeat = 0; repeat < repeats; repeat++)
    for (const combination of combinations)
      trials.push({ ...combination, repeat, index: trials.length, key: pointKey(combination) });
  return { trials, sweep, phases, repeats, estimatedMs: estimateMs(combinations, phases, repeats) };
}

/** How large the plan of a run is, without the plan: a hundredth of its work. */
export function planFigures(scenario: Scenario, scale: Scale): PlanFigures {
  const { phases, repeats } = scaleScenario(scenario, scale);
  const combinations = expandSweep(scenario, scale);
  const points = combinations.length;
  return { points, trials: points * repeats, estimatedMs: estimateMs(combinations, phases, repeats) };
}

function estimateMs(points: readonly Combination[], phases: Scenario['phases'], repeats: number): number {
  return Math.round(repeats * points.reduce((sum, point) => sum + estimateTrialMs(point, phases), 0));
}

/** Measured on two cores: enqueuing and finally browsing a message of the backlog; creating a subscriber. */
const fillMsPerMessage = 0.01;
const subscribeMs = 1;

/**
 * The phases, a part of the drain's limit, and starting the processes: 250 ms plus 120 ms for each further instance
 * (measured on two cores). During the run this overhead is replaced by the observed one.
 */
export function estimateTrialMs(trial: Combination, phases: Scenario['phases']): number {
  const drain = phases.drainMs / 4;
  const { instances, backlog = 0, subscribers = 0 } = trial.params;
  const made = fillMsPerMessage * backlog + subscribeMs * subscribers;
  return phases.warmupMs + phases.measureMs + drain + 250 + 120 * (instances - 1) + made;
}

/** "sharded, 2 instances, 16 threads, 1 ms round trip, repeat 2 of 3" */
export function trialInWords(trial: Trial, { sweep, repeats }: RunPlan): string {
  const { instances, threads, roundTripMs } = trial.params;
  const parts = [
    trial.implementation,
    `${instances} ${instances === 1 ? 'instance' : 'instances'}`,
    `${threads} ${threads === 1 ? 'thread' : 'threads'}`,
  ];
  if (roundTripMs > 0) parts.push(`${roundTripMs} ms round trip`);
  parts.push(...describeParams(trial.params, sweep));
  if (repeats > 1) parts.push(`repeat ${trial.repeat + 1} of ${repeats}`);
  return parts.join(', ');
}
