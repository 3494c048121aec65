/** The settings of the what-if page, and the simulations that they require. */
import { type Hardware, numberParam, type Params } from '@shardlab/contract';
import { type ClusterCosts, type ModelWorkload, resolveHardware } from '@shardlab/model';
import { type Limit, withoutLimits } from './what-if-limits.ts';

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

/** Maximum number of threads: that of a scenario's points. */
export const whatIfThreadsMax = 256;

export interface SimulationJob {
  key: string;
  system: ModelWorkload['kind'];
  threads: number;
  workload: ModelWorkload;
  warmupOperations: number;
  measureOperations: number;
}

/** A position of the sliders; `machine` is the title of the hardware. */
export interface Position {
  machine: string;
  settings: WhatIfSettings;
  /** Limits that are removed. */
  without: readonly Limit[];
}

export interface SimulationRequest {
  position: Position;
  costs: ClusterCosts;
  /** In the order of execution: each pass is more precise than the one before. */
  passes: readonly SimulationJob[][];
}

/** The same limit as in the lab, so that simulated dequeuers see the same backlog. */
const backlogMax = 20_000;

/**
 * Each point is simulated several times, each time more precisely, so that a moved slider shows an effect at once. A *round* is
 * one transaction of every session: fewer than one before the window and two in it say nothing about the rate, so a pass leaves
 * out points whose rounds would exceed its number of operations. The first pass has 14 points in about 40 ms.
 */
const passes = [
  { rounds: 2, operationsMin: 1_200, operationsMax: 8_000 },
  { rounds: 4, operationsMin: 6_000, operationsMax: 60_000 },
  { rounds: 12, operationsMin: 60_000, operationsMax: 1_600_000 },
] as const;

/** More precise than needed where rounds are long. */
const roundsOperationsMax = 400_000;

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

/** `without`: limits that are removed, see `withoutLimits`. */
export function simulationRequest(
  hardware: Hardware,
  settings: WhatIfSettings,
  threads: readonly number[],
  without: readonly Limit[] = [],
): SimulationRequest {
  const { cores, syncUs } = settings;
  const resolved = resolveHardware(hardware);
  const costs: ClusterCosts = {
    ...resolved,
    machine: { ...resolved.machine, coresPerNode: cores ?? resolved.machine.coresPerNode },
    redo: { ...resolved.redo, syncUs: syncUs ?? resolved.redo.syncUs },
    unsharded: { ...resolved.unsharded, syncUs: syncUs ?? resolved.unsharded.syncUs },
  };
  const roundTripMs = without.includes('roundTrips') ? 0 : settings.roundTripMs;
  const points = threads.flatMap((count) =>
    (['sharded', 'unsharded'] as const).map((system) => ({
      key: `${system}/${count}`,
      system,
      threads: count,
      workload: workloadOf({ ...settings, roundTripMs }, system, count),
    })),
  );
  return {
    position: { machine: hardware.title, settings, without },
    costs: withoutLimits(costs, without),
    passes: passes.map((pass) =>
      points.flatMap((point): SimulationJob[] => {
        const { enqueuers, dequeuers } = point.workload;
        const round = (enqueuers + dequeuers) * settings.operations;
        if (3 * round > pass.operationsMax) return [];
        const wanted = Math.max(pass.operationsMin, Math.min(roundsOperationsMax, pass.rounds * round));
        const measureOperations = Math.max(2 * round, wanted);
        return [
          {
            ...point,
            warmupOperations: Math.max(round, Math.round(measureOperations / 5)),
            measureOperations,
          },
        ];
      }),
    ),
  };
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
