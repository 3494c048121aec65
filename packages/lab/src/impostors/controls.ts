/**
 * The controls of the judges, as complete runs: pairs of formulas that are acted out in real trials, with their kills. Those in arrays
 * must make no claim of the white paper hold, and the reference, on the engine, must make those hold that these points can decide.
 */
import type { ClaimResult, Point, Run, Scenario } from '@shardlab/contract';
import { startRun } from '../run/start-run.ts';
import { bundledStudies } from '../studies/registry.ts';
import { impostors, type SystemPair } from './impostors.ts';
import { randomisedPair } from './randomised.ts';
import { reference, slowed } from './reference.ts';
import { type RunningSystem, studiesOf } from './run-impostors.ts';
import { unkilled, unseen } from './unexposed.ts';

export interface Control {
  name: string;
  isReference: boolean;
  scenario: Scenario;
  places: Record<string, RunningSystem>;
}

/** The rates of the reference are multiplied by this. */
const referenceShare = 0.15;
/** Claims about absolute rates are out of the reference's reach, and others need points that these are not. */
export const decidedByReference = ['A1', 'A3', 'A4', 'A5', 'A6', 'A7', 'A9'];

const { claims } = bundledStudies.studies.find(({ id }) => id === 'white-paper')!;
const claimIds = claims.map(({ id }) => id);
const weakIds = claims.filter(({ weak }) => weak !== undefined).map(({ id }) => id);

export interface ControlOptions {
  instances: number[];
  threads: number[];
  repeats: number;
}

const queues = ['sharded', 'unsharded', 'unsharded-grouped'] as const;

function scenarioOf(
  { instances, threads, repeats }: ControlOptions,
  changes: { seed: number; backlog: number; backlogMax: number; warmupMs: number },
): Scenario {
  const { seed, warmupMs, ...backlogs } = changes;
  return {
    version: 2,
    id: 'controls',
    title: 'Controls of the judges',
    question: 'Do only queues make claims hold?',
    claims: claimIds,
    seed,
    program: 'queue',
    systems: [...queues],
    parameters: { durability: 'durable', payloadBytes: 512, operationsPerTransaction: 10, ...backlogs },
    sweep: { instances, threads },
    // Shorter than the shortest window that is measured again after a disturbance, which would take most of the time.
    phases: { warmupMs, measureMs: 450, drainMs: 10_000 },
    repeats,
    kills: true,
  };
}

/** Each control has a backlog, so that the queue has messages when it is killed. */
const inArrays = (systems: SystemPair, seed: number, options: ControlOptions) => ({
  isReference: false,
  scenario: scenarioOf(options, { seed, backlog: 1_000, backlogMax: 5_000, warmupMs: 200 }),
  places: Object.fromEntries(
    queues.map((queue): [string, RunningSystem] => [queue, { formula: systems[queue], host: 'array' }]),
  ),
});

export const impostorControls = (options: ControlOptions): Control[] =>
  impostors.map(({ name, systems }) => ({ name, ...inArrays(systems, 1, options) }));

export const randomisedControl = (seed: number, options: ControlOptions): Control => {
  const { name, systems } = randomisedPair(seed);
  return { name, ...inArrays(systems, seed, options) };
};

/** Its unsharded queues fall behind, so the small backlog is full after this warm-up: then it is steady. */
export const referenceControl = (options: ControlOptions): Control => ({
  name: 'reference',
  isReference: true,
  scenario: scenarioOf(options, { seed: 1, backlog: 0, backlogMax: 200, warmupMs: 2_000 }),
  places: Object.fromEntries(
    queues.map((queue): [string, RunningSystem] => [
      queue,
      { formula: slowed(reference[queue], referenceShare), host: 'engine' },
    ]),
  ),
});

export interface ControlResult {
  name: string;
  run: Run;
  held: string[];
  /** What would hold of an impostor if neither a kill nor the kernel had exposed it; empty for the reference. */
  heldUnexposed: string[];
  /** In words; empty if the control is as it must be. */
  faults: string[];
}

/** Rejects as a run does. */
export async function runControl(control: Control, dataDir: string): Promise<ControlResult> {
  const { name, scenario, places, isReference } = control;
  const run = await startRun({ scenario, scale: 'full', dataDir, studies: studiesOf(places) });
  const held = run.claims.filter(({ verdict }) => verdict === 'holds').map(({ id }) => id);
  if (run.status !== 'done')
    return { name, run, held, heldUnexposed: [], faults: [`its run ended: ${run.error ?? run.status}`] };
  if (isReference) return { name, run, held, heldUnexposed: [], faults: faultsOfReference(run, held) };
  const { held: heldUnexposed, unmarked } = judgeUnexposed(run.points);
  return { name, run, held, heldUnexposed, faults: faultsOfImpostor(run, held, unmarked) };
}

/** Without a file system, since an array has no files. */
const judge = (points: readonly Point[]): ClaimResult[] =>
  bundledStudies.judge(claimIds, points, { cores: 2 });

/**
 * What holds if neither a kill nor the kernel exposes the system, and what of it is not marked: neither graded as weak nor with the
 * remark that the kernel's counters are missing.
 */
export function judgeUnexposed(points: readonly Point[]): { held: string[]; unmarked: string[] } {
  const held = judge(unseen(unkilled(points, 'shown'))).filter(({ verdict }) => verdict === 'holds');
  const unmarked = held.filter(
    ({ id, reason }) =>
      !weakIds.includes(id) && !reason.includes('Weak: The counters of the kernel are missing'),
  );
  return { held: held.map(({ id }) => id), unmarked: unmarked.map(({ id }) => id) };
}

function faultsOfImpostor({ points }: Run, held: readonly string[], unmarked: readonly string[]): string[] {
  const killed = points.flatMap((point) => (point.killed === undefined ? [] : [point.killed]));
  return [
    ...(held.length > 0 ? [`claims hold: ${held.join(', ')}`] : []),
    ...(unmarked.length > 0 ? [`claims would hold and are not marked as weak: ${unmarked.join(', ')}`] : []),
    ...(killed.length === 0 || killed.some(({ lost, recovered }) => lost === 0 || recovered > 0)
      ? ['a kill did not show that it loses its messages']
      : []),
  ];
}

function faultsOfReference({ claims: judged, points }: Run, held: readonly string[]): string[] {
  const missing = judged.filter(({ id }) => decidedByReference.includes(id) && !held.includes(id));
  const notShown = points.filter(({ killed }) => killed !== undefined && killed.lost > 0);
  return [
    ...missing.map(({ id, verdict, reason }) => `${id} ${verdict}: ${reason}`),
    ...notShown.map(({ system }) => `${system} lost messages in a kill`),
  ];
}
