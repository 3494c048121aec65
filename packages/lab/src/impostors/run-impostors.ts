/**
 * Studies whose queues are formulas that run: the harness runs them as it runs the engine's, in processes of their own, with the name of
 * the queue whose place they take. Nothing but the tests of the judges makes such a registry.
 */
import { Random } from '@shardlab/model';
import { queueParamsOf } from '../programs/queue/points/queue-params.ts';
import { queueProgram, topicProgram } from '../programs/queue/queue-program.ts';
import { runKilledTrial } from '../programs/queue/trial/run-killed-trial.ts';
import { runTrial } from '../programs/queue/trial/run-trial.ts';
import type { QueueTrialOptions } from '../programs/queue/trial/worker-config.ts';
import { bundledStudies, StudyRegistry } from '../studies/registry.ts';
import type { TrialOptions } from '../trial/trial.ts';
import type { AnalyticSystem } from './analytic-system.ts';
import type { HostSettings } from './pretence.ts';

// Tests run bundles of files that are named like this (scripts/bundles/entries.mjs).
const hosts = {
  array: new URL('./hosts/array.ts', import.meta.url),
  engine: new URL('./hosts/engine.ts', import.meta.url),
} as const satisfies Record<string, URL>;

/** A formula, and what acts it out: an array in memory, which keeps nothing when it is killed, or the engine, which does. */
export interface RunningSystem extends Pick<HostSettings, 'discards'> {
  formula: AnalyticSystem;
  host: keyof typeof hosts;
}

/** The bundled studies, with other systems in the places of those of the programs `queue` and `topic`. */
export function studiesOf(places: Readonly<Record<string, RunningSystem>>): StudyRegistry {
  const posing = (options: TrialOptions): QueueTrialOptions => {
    const { trial, scenario } = options;
    const system = places[trial.system];
    if (system === undefined) throw new RangeError(`nothing poses as ${trial.system}`);
    const params = queueParamsOf(trial.params);
    const chance = new Random(scenario.seed * 1_000 + trial.index);
    const settings: HostSettings = {
      behaviour: system.formula(params, chance, scenario),
      params,
      ...(system.discards === undefined ? {} : { discards: system.discards }),
    };
    return { ...options, otherHost: { module: hosts[system.host].href, settings } };
  };
  const common = [queueProgram, topicProgram].map((program) => ({
    ...program,
    run: (options: TrialOptions) => runTrial(posing(options)),
    kill: { ...program.kill!, run: (options: TrialOptions) => runKilledTrial(posing(options)) },
  }));
  return new StudyRegistry(bundledStudies.studies, { common });
}
