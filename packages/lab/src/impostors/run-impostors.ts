/**
 * Studies whose queues are impostors: the harness runs these as it runs the engine's, in processes of their own, with the name of the
 * queue whose place they take. Nothing but tests makes such a registry.
 */
import { queueProgram, topicProgram } from '../programs/queue/queue-program.ts';
import { runKilledTrial } from '../programs/queue/trial/run-killed-trial.ts';
import { runTrial } from '../programs/queue/trial/run-trial.ts';
import type { QueueTrialOptions } from '../programs/queue/trial/worker-config.ts';
import { bundledStudies, StudyRegistry } from '../studies/registry.ts';
import type { TrialOptions } from '../trial/trial.ts';

// Named as they are in this folder, so that tests run bundles of them.
const hosts = {
  counter: new URL('./hosts/counter.ts', import.meta.url),
  capped: new URL('./hosts/capped.ts', import.meta.url),
  'client-bound': new URL('./hosts/client-bound.ts', import.meta.url),
  random: new URL('./hosts/random.ts', import.meta.url),
  discarding: new URL('./hosts/discarding.ts', import.meta.url),
} as const satisfies Record<string, URL>;

export type RunningImpostor = keyof typeof hosts;

/** The bundled studies, with impostors in the places of the systems of the program `queue`. */
export function studiesOfImpostors(places: Readonly<Record<string, RunningImpostor>>): StudyRegistry {
  const posing = (options: TrialOptions): QueueTrialOptions => {
    const impostor = places[options.trial.system];
    if (impostor === undefined) throw new RangeError(`no impostor poses as ${options.trial.system}`);
    return { ...options, hostModule: hosts[impostor].href };
  };
  const program = {
    ...queueProgram,
    run: (options: TrialOptions) => runTrial(posing(options)),
    kill: { ...queueProgram.kill!, run: (options: TrialOptions) => runKilledTrial(posing(options)) },
  };
  return new StudyRegistry(bundledStudies.studies, { common: [program, topicProgram] });
}
