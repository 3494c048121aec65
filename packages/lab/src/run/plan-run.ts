/** The plan of a run: its trials in order, and about how long they take. */
import {
  type Combination,
  type Phases,
  type PlanFigures,
  type PlanLoad,
  paramInWords,
  pointKey,
  type Scale,
  type Scenario,
} from '@shardlab/contract';
import { expandSweep, scaleScenario } from '../programs/expand-sweep.ts';
import type { Program } from '../programs/program.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';
import type { Trial } from '../trial/trial.ts';
import { sampleKills } from './sample-kills.ts';

export interface RunPlan {
  program: Program;
  trials: Trial[];
  /** After these trials, another one of the same point is killed. */
  kills: ReadonlySet<Trial>;
  sweep: Scenario['sweep'];
  phases: Phases;
  repeats: number;
  /** Estimated duration of the whole run, milliseconds. */
  estimatedMs: number;
}

/**
 * The trials of a run. Repeats are the outermost loop, so that a slow minute of the machine affects one repeat of many
 * points rather than all repeats of one point.
 */
export function planRun(scenario: Scenario, scale: Scale, studies: StudyRegistry = bundledStudies): RunPlan {
  const program = studies.program(scenario.program);
  const { sweep, phases, repeats } = scaleScenario(scenario, scale);
  const combinations = expandSweep(scenario, scale, program);
  const trials: Trial[] = [];
  for (let repeat = 0; repeat < repeats; repeat++)
    for (const combination of combinations)
      trials.push({ ...combination, repeat, index: trials.length, key: pointKey(combination) });
  const kills = sampleKills(scenario, program, trials);
  const estimatedMs = estimateMs(program, combinations, phases) * repeats + killsMs(program, kills, phases);
  return { program, trials, kills, sweep, phases, repeats, estimatedMs: Math.round(estimatedMs) };
}

/** The size of a run's plan and its estimated time, without making the plan, which would take a hundred times as long. */
export function planFigures(
  scenario: Scenario,
  scale: Scale,
  studies: StudyRegistry = bundledStudies,
): PlanFigures {
  const program = studies.program(scenario.program);
  const { phases, repeats } = scaleScenario(scenario, scale);
  const combinations = expandSweep(scenario, scale, program);
  const first = combinations.map((combination, index) => ({ ...combination, repeat: 0, index, key: '' }));
  const kills = sampleKills(scenario, program, first);
  const estimatedMs = Math.round(
    estimateMs(program, combinations, phases) * repeats + killsMs(program, kills, phases),
  );
  return { points: combinations.length, trials: combinations.length * repeats, estimatedMs };
}

/** Disk space that the largest trial of a run may need, bytes. */
export function diskBytesMax(
  scenario: Scenario,
  scale: Scale,
  studies: StudyRegistry = bundledStudies,
): number {
  const program = studies.program(scenario.program);
  const bytes = expandSweep(scenario, scale, program).map(({ params }) =>
    program.trialBytesMax(scenario, params),
  );
  return Math.ceil(bytes.reduce((most, each) => Math.max(most, each), 0));
}

/** An instance or a client works on its session thread, and on one that writes or receives. */
const coresOfProcess = 2;

/** Maximum load of a run's trials on a machine with this many cores; null if its program does not report it. */
export function planLoad(
  scenario: Scenario,
  scale: Scale,
  { cores, studies = bundledStudies }: { cores: number; studies?: StudyRegistry },
): PlanLoad | null {
  const program = studies.program(scenario.program);
  if (program.trialLoad === undefined) return null;
  const loads = expandSweep(scenario, scale, program).map((each) => program.trialLoad!(each));
  const processesMax = loads.reduce((most, { processes }) => Math.max(most, processes), 0);
  return {
    sessionsMax: loads.reduce((most, { sessions }) => Math.max(most, sessions), 0),
    processesMax,
    isPaced: loads.every(({ isPaced }) => isPaced),
    coresBusyMax: Math.min(cores, coresOfProcess * processesMax),
    cores,
  };
}

/** About how long a trial of the plan takes with the kill after it, if it has one, milliseconds. */
export function estimateTrialMs(trial: Trial, { program, phases, kills }: RunPlan): number {
  const killMs = kills.has(trial) ? (program.kill?.estimateMs(trial, phases) ?? 0) : 0;
  return program.estimateTrialMs(trial, phases) + killMs;
}

/** One repeat of all combinations. */
const estimateMs = (program: Program, combinations: readonly Combination[], phases: Phases): number =>
  combinations.reduce((sum, each) => sum + program.estimateTrialMs(each, phases), 0);

const killsMs = ({ kill }: Program, kills: ReadonlySet<Trial>, phases: Phases): number =>
  [...kills].reduce((sum, trial) => sum + (kill?.estimateMs(trial, phases) ?? 0), 0);

/** "Sharded queue, 1 ms round trip, 2 instances, 16 threads, repeat 2 of 3": what the sweep varies, in its order. */
export function trialInWords(trial: Trial, { program, sweep, repeats }: RunPlan): string {
  const varied = program.parameters.filter(({ name }) => (sweep[name]?.length ?? 0) > 1);
  const parts = varied.map((parameter) => paramInWords(parameter, trial.params[parameter.name]!));
  const repeat = repeats > 1 ? [`repeat ${trial.repeat + 1} of ${repeats}`] : [];
  const title = program.systems.find(({ id }) => id === trial.system)?.title ?? trial.system;
  return [title, ...parts, ...repeat].join(', ');
}
