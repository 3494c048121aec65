/**
 * The controls of the judges, as complete runs: pairs of formulas that are acted out in real trials, with their kills. Those in arrays
 * must make no claim of the white paper hold, and the reference, on the engine, must make those hold that these points can decide.
 */
import { platform } from 'node:os';
import type { Phases, Point, Run, Scenario } from '@shardlab/contract';
import { startRun } from '../run/start-run.ts';
import { bundledStudies } from '../studies/registry.ts';
import { impostors, type SystemPair } from './impostors.ts';
import { randomisedPair } from './randomised.ts';
import { reference, slowed } from './reference.ts';
import { type RunningSystem, studiesOf } from './run-impostors.ts';
import { withoutKernelCounters, withoutKills } from './unexposed.ts';

export interface Control {
  name: string;
  isReference: boolean;
  scenario: Scenario;
  places: Record<string, RunningSystem>;
}

/** The rates of the reference are multiplied by these. */
const referenceShares = { sharded: 0.2, unsharded: 0.1, 'unsharded-grouped': 0.1 };
/**
 * Claims about absolute rates are out of the reference's reach, the times of single calls (A9) are the engine's own, and other claims
 * need points that these are not.
 */
export const decidedByReference = ['A1', 'A3', 'A4', 'A5', 'A6', 'A7'];

export const claimIds = bundledStudies.studies
  .find(({ id }) => id === 'white-paper')!
  .claims.map(({ id }) => id);

export interface ControlOptions {
  program: 'queue' | 'topic';
  instances: number[];
  threads: number[];
  repeats: number;
}

/** Topics that store copies have as many queues as subscribers; the baseline that stores a message once stands for both of its kind. */
const systemsOf = {
  queue: ['sharded', 'unsharded', 'unsharded-grouped'],
  topic: ['sharded', 'unsharded', 'unsharded-once'],
} as const satisfies Record<ControlOptions['program'], readonly (keyof SystemPair)[]>;
const subscribers = 10;

function scenarioOf(
  { program, instances, threads, repeats }: ControlOptions,
  changes: { seed: number; backlog: number; backlogMax: number } & Pick<Phases, 'warmupMs' | 'measureMs'>,
): Scenario {
  const { seed, warmupMs, measureMs, ...backlogs } = changes;
  const ofTopic = program === 'topic' ? { subscribers } : {};
  return {
    version: 2,
    id: 'controls',
    title: 'Controls of the judges',
    question: 'Do only queues make claims hold?',
    claims: claimIds,
    seed,
    program,
    systems: [...systemsOf[program]],
    parameters: {
      durability: 'durable',
      payloadBytes: 512,
      operationsPerTransaction: 10,
      ...ofTopic,
      ...backlogs,
    },
    sweep: { instances, threads },
    phases: { warmupMs, measureMs, drainMs: 10_000 },
    repeats,
    kills: true,
  };
}

/**
 * Impostors have a backlog, so that there are messages to lose when they are killed. So short a window is not measured again after a
 * disturbance, which would take most of the time.
 */
const inArrays = (systems: SystemPair, seed: number, options: ControlOptions) => ({
  isReference: false,
  scenario: scenarioOf(options, {
    seed,
    backlog: 1_000,
    backlogMax: 5_000,
    warmupMs: 200,
    measureMs: 450,
  }),
  places: Object.fromEntries(
    systemsOf[options.program].map((system): [string, RunningSystem] => [
      system,
      { formula: systems[system], host: 'array' },
    ]),
  ),
});

const nameOf = (name: string, { program }: ControlOptions) => (program === 'topic' ? `${name}, topic` : name);

export const impostorControls = (options: ControlOptions): Control[] =>
  impostors.map(({ name, systems }) => ({ name: nameOf(name, options), ...inArrays(systems, 1, options) }));

export const randomisedControl = (seed: number, options: ControlOptions): Control => {
  const { name, systems } = randomisedPair(seed);
  return { name: nameOf(name, options), ...inArrays(systems, seed, options) };
};

/**
 * On one instance its unsharded queues, which dequeue more slowly than they enqueue, have filled the small backlog when the window
 * begins, so they are steady. Messages in flight of a sharded queue must not fill it.
 */
export const referenceControl = (options: Omit<ControlOptions, 'program'>): Control => ({
  name: 'reference',
  isReference: true,
  scenario: scenarioOf(
    { ...options, program: 'queue' },
    { seed: 1, backlog: 0, backlogMax: 500, warmupMs: 2_000, measureMs: 900 },
  ),
  places: Object.fromEntries(
    systemsOf.queue.map((queue): [string, RunningSystem] => [
      queue,
      {
        // What burns CPU on the thread of a sharded queue would hold up the calls of its other sessions.
        formula: slowed(reference[queue], { share: referenceShares[queue], keepsCores: queue !== 'sharded' }),
        host: 'engine',
      },
    ]),
  ),
});

export interface ControlResult {
  held: string[];
  /** What would hold of an impostor if neither a kill nor the kernel had exposed it: the judges alone do not recognise it. */
  heldUnexposed: string[];
  /** In words; empty if the control is as it must be. */
  faults: string[];
}

/** Rejects as a run does. */
export async function runControl(control: Control, dataDir: string): Promise<ControlResult> {
  const { scenario, places } = control;
  return resultOf(control, await startRun({ scenario, scale: 'full', dataDir, studies: studiesOf(places) }));
}

export function resultOf({ isReference }: Pick<Control, 'isReference'>, run: Run): ControlResult {
  const { claims: judged, points, status, error } = run;
  const held = judged.filter(({ verdict }) => verdict === 'holds').map(({ id }) => id);
  const heldUnexposed = isReference ? [] : heldBy(withoutKernelCounters(withoutKills(points, 'shown')));
  if (status !== 'done')
    return { held, heldUnexposed, faults: [`its run ended: ${error?.message ?? status}`] };
  const faults = isReference ? faultsOfReference(run) : faultsOfImpostor(run, held);
  return { held, heldUnexposed, faults: faultsOfKills(run, isReference).concat(faults) };
}

/** The claims that hold, judged without a file system, since an array has no files. */
export const heldBy = (points: readonly Point[]): string[] =>
  bundledStudies
    .judge(claimIds, points, { cores: 2 })
    .filter(({ verdict }) => verdict === 'holds')
    .map(({ id }) => id);

/** A kill must show of each system whether it keeps what it acknowledged. */
function faultsOfKills({ points, scenario }: Run, isReference: boolean): string[] {
  const kills = points.flatMap(({ system, killed }) => (killed === undefined ? [] : [{ system, ...killed }]));
  const notKilled = scenario.systems.filter((name) => !kills.some(({ system }) => system === name));
  const wrong = kills.filter(({ lost, recovered }) => (isReference ? lost > 0 : lost === 0 || recovered > 0));
  return [
    ...notKilled.map((system) => `${system} was not killed`),
    ...wrong.map(
      ({ system, lost, recovered }) => `${system} lost ${lost} messages in a kill and recovered ${recovered}`,
    ),
  ];
}

function faultsOfImpostor({ points }: Run, held: readonly string[]): string[] {
  const uncontradicted = platform() === 'linux' ? heldBy(withoutKills(points, 'shown')) : [];
  return [
    ...(held.length > 0 ? [`claims hold: ${held.join(', ')}`] : []),
    ...(uncontradicted.length > 0
      ? [`the kernel does not contradict it: without a kill ${uncontradicted.join(', ')} would hold`]
      : []),
  ];
}

const faultsOfReference = ({ claims: judged }: Run): string[] =>
  judged
    .filter(({ id, verdict }) => decidedByReference.includes(id) && verdict !== 'holds')
    .map(({ id, verdict, reason }) => `${id} ${verdict}: ${reason}`);
