/** The settings of the what-if page, and the simulations that they require. */
import { type Hardware, numberParam, type Params } from '@shardlab/contract';
import { type ClusterCosts, type ModelWorkload, resolveHardware } from '@shardlab/model';

/** The values of the sliders; null stands for the value of the selected machine. */
export interface WhatIfSettings {
  instances: number;
  /** Operations per transaction. */
  operations: number;
  /** Subscribers of a topic; 0 for a queue. */
  subscribers: number;
  payloadBytes: number;
  roundTripMs: number | null;
  /** Cores per node. */
  cores: number | null;
  syncUs: number | null;
}

export const whatIfDefault: WhatIfSettings = {
  instances: 2,
  operations: 10,
  subscribers: 0,
  payloadBytes: 512,
  roundTripMs: null,
  cores: null,
  syncUs: null,
};

/** The values that each slider can take. */
export const sliderSteps = {
  instances: [1, 2, 4, 8, 16, 32, 64],
  operations: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
  subscribers: [0, 1, 2, 5, 10, 20, 50, 100],
  payloadBytes: [64, 128, 256, 512, 1024, 4096, 16_384, 65_536],
  roundTripMs: [0, 0.1, 0.2, 0.5, 1, 2, 5, 10],
  cores: [1, 2, 4, 8, 16, 24, 32, 64],
  syncUs: [0, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000],
} as const satisfies Record<keyof WhatIfSettings, readonly number[]>;

/** The steps of a slider and its current value: that of a machine or from a link need not be one of the steps. */
export function stepsIncluding(steps: readonly number[], value: number): number[] {
  return [...new Set([...steps, value])].sort((a, b) => a - b);
}

/** The horizontal axis of the chart: the number of enqueuers, and of dequeuers per subscriber. */
export const whatIfThreads: readonly number[] = [1, 2, 4, 8, 16, 32, 64];

export interface SimulationJob {
  key: string;
  system: ModelWorkload['kind'];
  threads: number;
  workload: ModelWorkload;
  measureOperations: number;
}

export interface SimulationRequest {
  costs: ClusterCosts;
  /** In the order of execution. */
  jobs: SimulationJob[];
}

/** The same limit as in the lab, so that simulated dequeuers see the same backlog. */
const backlogMax = 20_000;

/**
 * Every point is simulated twice, first quickly, then more precisely. Each pass runs long enough for every session to
 * commit `transactions` times, within the limits on operations, so that a moved slider shows an effect soon.
 */
const passes = [
  { transactions: 2, operationsMin: 4_000, operationsMax: 40_000 },
  { transactions: 12, operationsMin: 60_000, operationsMax: 400_000 },
] as const;

export interface MachineSettings {
  roundTripMs: number;
  cores: number;
  syncUs: number;
}

/** The values of the machine, which apply while a slider is not set. */
export function machineSettings(hardware: Hardware): MachineSettings {
  const { sessions, machine, redo } = resolveHardware(hardware);
  return { roundTripMs: sessions.roundTripUs / 1000, cores: machine.coresPerNode, syncUs: redo.syncUs };
}

export function simulationRequest(
  hardware: Hardware,
  settings: WhatIfSettings,
  threads: readonly number[],
): SimulationRequest {
  const { cores, syncUs } = settings;
  const resolved = resolveHardware(hardware);
  const costs: ClusterCosts = {
    ...resolved,
    machine: { ...resolved.machine, coresPerNode: cores ?? resolved.machine.coresPerNode },
    redo: { ...resolved.redo, syncUs: syncUs ?? resolved.redo.syncUs },
    unsharded: { ...resolved.unsharded, syncUs: syncUs ?? resolved.unsharded.syncUs },
  };
  const jobs = passes.flatMap((pass) =>
    threads.flatMap((count) =>
      (['sharded', 'unsharded'] as const).map((system): SimulationJob => {
        const workload = workloadOf(settings, system, count);
        const sessions = workload.enqueuers + workload.dequeuers;
        const operations = sessions * settings.operations * pass.transactions;
        return {
          key: `${system}/${count}`,
          system,
          threads: count,
          workload,
          measureOperations: Math.min(pass.operationsMax, Math.max(pass.operationsMin, operations)),
        };
      }),
    ),
  );
  return { costs, jobs };
}

function workloadOf(settings: WhatIfSettings, kind: ModelWorkload['kind'], threads: number): ModelWorkload {
  const subscribers = Math.max(1, settings.subscribers);
  return {
    kind,
    instances: settings.instances,
    enqueuers: threads,
    dequeuers: threads * subscribers,
    subscribers,
    operationsPerTransaction: settings.operations,
    payloadBytes: settings.payloadBytes,
    backlogMax,
    ...(settings.roundTripMs === null ? {} : { roundTripUs: settings.roundTripMs * 1000 }),
  };
}

/** Whether a point was measured with the workload that the sliders describe. The machine is not compared. */
export function matchesSettings(params: Params, settings: WhatIfSettings, machine: MachineSettings): boolean {
  return (
    params.instances === settings.instances &&
    params.operationsPerTransaction === settings.operations &&
    params.payloadBytes === settings.payloadBytes &&
    params.roundTripMs === (settings.roundTripMs ?? machine.roundTripMs) &&
    numberParam(params, 'subscribers') === settings.subscribers
  );
}

/** The workload of a measured point as slider values; those of the machine stay unset. */
export function settingsOfPoint(params: Params): WhatIfSettings {
  return {
    instances: numberParam(params, 'instances'),
    operations: numberParam(params, 'operationsPerTransaction'),
    subscribers: numberParam(params, 'subscribers'),
    payloadBytes: numberParam(params, 'payloadBytes'),
    roundTripMs: numberParam(params, 'roundTripMs'),
    cores: null,
    syncUs: null,
  };
}
