/** What a run will do, before it does it: its trials in order and about how long they take. */
import { paramsInWords, pointKey, type Scale, type Scenario } from '@shardlab/contract';
import { type Combination, expandSweep, scaleScenario } from '../scenario/expand-sweep.ts';

/** One repeat of one combination. */
export interface Trial extends Combination {
  /** Counts from 0 in the order of the run. */
  index: number;
  repeat: number;
  /** The identity of the point that it belongs to. */
  key: string;
}

export interface RunPlan {
  trials: Trial[];
  sweep: Scenario['sweep'];
  phases: Scenario['phases'];
  repeats: number;
  /** About how long the whole run takes, milliseconds. */
  estimatedMs: number;
}

/**
 * The trials of a run. Repeats are the outermost loop, so that a slow minute of the machine hits one repeat of many
 * points rather than every repeat of one.
 */
export function planRun(scenario: Scenario, scale: Scale): RunPlan {
  const { sweep, phases, repeats } = scaleScenario(scenario, scale);
  const combinations = expandSweep(scenario, scale);
  const trials: Trial[] = [];
  for (let repeat = 0; repeat < repeats; repeat++)
    for (const combination of combinations)
      trials.push({ ...combination, repeat, index: trials.length, key: pointKey(combination) });
  const estimatedMs = trials.reduce((sum, trial) => sum + estimateTrialMs(trial, phases), 0);
  return { trials, sweep, phases, repeats, estimatedMs: Math.round(estimatedMs) };
}

/** Measured on two cores: a message of the backlog goes in, and what is left of it is browsed; a subscriber is made. */
const fillMsPerMessage = 0.01;
const subscribeMs = 1;

/**
 * The phases, a part of the drain's bound, and the start of the processes: 250 ms and 120 ms for each more instance
 * (measured on two cores). The run replaces this overhead by what it observes.
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
  parts.push(...paramsInWords(trial.params, sweep));
  if (repeats > 1) parts.push(`repeat ${trial.repeat + 1} of ${repeats}`);
  return parts.join(', ');
}
