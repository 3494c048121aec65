/** The settings of the what-if page, and the simulations that they call for. */
import type { Hardware, Implementation, PointParams } from '@shardlab/contract';
import { type ClusterCosts, type ModelWorkload, resolveHardware } from '@shardlab/model';

/** What the sliders set; null is the machine's own. */
export interface WhatIf {
  instances: number;
  /** Operations of a transaction. */
  operations: number;
  /** 0: a queue. */
  subscribers: number;
  payloadBytes: number;
  roundTripMs: number | null;
  /** Of each node. */
  cores: number | null;
  syncUs: number | null;
}

export const whatIfDefault: WhatIf = {
  instances: 2,
  operations: 10,
  subscribers: 0,
  payloadBytes: 512,
  roundTripMs: null,
  cores: null,
  syncUs: null,
};

/** Where each slider stops. */
export const sliderSteps = {
  instances: [1, 2, 4, 8, 16, 32, 64],
  operations: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
  subscribers: [0, 1, 2, 5, 10, 20, 50, 100],
  payloadBytes: [64, 128, 256, 512, 1024, 4096, 16_384, 65_536],
  roundTripMs: [0, 0.1, 0.2, 0.5, 1, 2, 5, 10],
  cores: [1, 2, 4, 8, 16, 24, 32, 64],
  syncUs: [0, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000],
} as const satisfies Record<keyof WhatIf, readonly number[]>;

/** The stops of a slider with the value that it has: a machine's own, or one of a link, need not be among them. */
export function stepsWith(steps: readonly number[], value: number): number[] {
  return [...new Set([...steps, value])].sort((a, b) => a - b);
}

/** Enqueuers, and as many dequeuers for each subscriber: the axis of the chart. */
export const whatIfThreads: readonly number[] = [1, 2, 4, 8, 16, 32, 64];

export interface SimulationJob {
  key: string;
  implementation: Implementation;
  threads: number;
  workload: ModelWorkload;
  measureOperations: number;
}

export interface SimulationRequest {
  costs: ClusterCosts;
  /** In the order in which they are to be done. */
  jobs: SimulationJob[];
}

/** The lab's own bound, so that a slow dequeuer meets the same backlog. */
const backlogMax = 20_000;

/**
 * How long a point is simulated: enough for each session to commit a few times, and no longer than a slider waits. All
 * points come roughly first, then well.
 */
const efforts = [
  { transactions: 2, least: 4_000, most: 40_000 },
  { transactions: 12, least: 60_000, most: 400_000 },
] as const;

export interface OwnSettings {
  roundTripMs: number;
  cores: number;
  syncUs: number;
}

/** What a machine has where no slider says otherwise. */
export function ownSettings(hardware: Hardware): OwnSettings {
  const { sessions, machine, redo } = resolveHardware(hardware);
  return { roundTripMs: sessions.roundTripUs / 1000, cores: machine.coresPerNode, syncUs: redo.syncUs };
}

export function simulationRequest(
  hardware: Hardware,
  settings: WhatIf,
  threads: readonly number[],
): SimulationRequest {
  const { cores, syncUs } = settings;
  const own = resolveHardware(hardware);
  const costs: ClusterCosts = {
    ...own,
    machine: { ...own.machine, coresPerNode: cores ?? own.machine.coresPerNode },
    redo: { ...own.redo, syncUs: syncUs ?? own.redo.syncUs },
    unsharded: { ...own.unsharded, syncUs: syncUs ?? own.unsharded.syncUs },
  };
  const jobs = efforts.flatMap((effort) =>
    threads.flatMap((count) =>
      (['sharded', 'unsharded'] as const).map((implementation): SimulationJob => {
        const workload = workloadOf(settings, implementation, count);
        const sessions = workload.enqueuers + workload.dequeuers;
        const wanted = sessions * settings.operations * effort.transactions;
        return {
          key: `${implementation}/${count}`,
          implementation,
          threads: count,
          workload,
          measureOperations: Math.min(effort.most, Math.max(effort.least, wanted)),
        };
      }),
    ),
  );
  return { costs, jobs };
}

function workloadOf(settings: WhatIf, kind: Implementation, threads: number): ModelWorkload {
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

/** Whether a point was measured with what the sliders say of the workload; the machine is another question. */
export function isMeasuredSo(params: PointParams, settings: WhatIf, own: OwnSettings): boolean {
  return (
    params.instances === settings.instances &&
    params.operationsPerTransaction === settings.operations &&
    params.payloadBytes === settings.payloadBytes &&
    params.roundTripMs === (settings.roundTripMs ?? own.roundTripMs) &&
    (params.subscribers ?? 0) === settings.subscribers
  );
}

/** The sliders as a measured point has them, for the machine as it is. */
export function settingsOf(params: PointParams): WhatIf {
  return {
    instances: params.instances,
    operations: params.operationsPerTransaction,
    subscribers: params.subscribers ?? 0,
    payloadBytes: params.payloadBytes,
    roundTripMs: params.roundTripMs,
    cores: null,
    syncUs: null,
  };
}
