/** The engine's trials. The lab runs each one: processes of their own, a check sum verified at every delivery. */
import type { Implementation, Point, Scenario } from '@shardlab/contract';
import { startRun } from '@shardlab/lab';

export interface EngineTrial {
  /** Also the name of the ratio it serves, if it serves one. */
  name: string;
  implementation: Implementation;
  instances: number;
  /** Enqueuers, and as many dequeuers, over all instances. */
  threads: number;
  operationsPerTransaction: number;
}

export const engineTrials: readonly EngineTrial[] = [
  { name: 'queue10', implementation: 'sharded', instances: 2, threads: 32, operationsPerTransaction: 10 },
  {
    name: 'queue10 on one instance',
    implementation: 'sharded',
    instances: 1,
    threads: 16,
    operationsPerTransaction: 10,
  },
  { name: 'queue1000', implementation: 'sharded', instances: 2, threads: 4, operationsPerTransaction: 1_000 },
  { name: 'queue1x32', implementation: 'sharded', instances: 1, threads: 32, operationsPerTransaction: 1 },
  {
    name: 'unsharded10',
    implementation: 'unsharded',
    instances: 1,
    threads: 16,
    operationsPerTransaction: 10,
  },
  {
    name: 'unsharded1000',
    implementation: 'unsharded',
    instances: 1,
    threads: 4,
    operationsPerTransaction: 1_000,
  },
];

export interface TrialOptions {
  dataDir: string;
  payloadBytes: number;
  warmupMs: number;
  measureMs: number;
}

/** Runs one trial; rejects if the run failed, whatever it had measured. */
export async function measureEngine(trial: EngineTrial, options: TrialOptions): Promise<Point> {
  const run = await startRun({
    scenario: scenarioOf(trial, options),
    scale: 'full',
    dataDir: options.dataDir,
    onEvent: () => undefined,
  });
  const point = run.points[0];
  if (run.status !== 'done' || point === undefined)
    throw new Error(`${trial.name}: ${run.error?.message ?? run.status}`);
  return point;
}

function scenarioOf(trial: EngineTrial, { payloadBytes, warmupMs, measureMs }: TrialOptions): Scenario {
  const { implementation, instances, threads, operationsPerTransaction } = trial;
  return {
    version: 1,
    id: 'bench',
    title: trial.name,
    question: 'How many messages a second does the engine move?',
    claims: [],
    seed: 1,
    queue: { durability: 'durable', shardsPerInstance: 1 },
    workload: { payloadBytes, operationsPerTransaction, backlogMax: 50_000 },
    sweep: { implementation: [implementation], instances: [instances], threads: [threads], roundTripMs: [0] },
    phases: { warmupMs, measureMs, drainMs: 3_000 },
    repeats: 1,
  };
}
