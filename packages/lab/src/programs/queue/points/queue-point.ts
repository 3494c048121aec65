/** A point of the programs `queue` and `topic` with its parameters and figures as fields, for judges and tables. */
import {
  coresBusyOf,
  distributionOf,
  figureOf,
  type LatencyMs,
  type Point,
  type Provenance,
  provenanceOf,
  type Repeat,
} from '@shardlab/contract';
import { type QueueParams, queueParamsOf } from './queue-params.ts';

export interface QueueRepeat extends Omit<Repeat, 'byInstance'> {
  enqueuePerSec: number;
  dequeuePerSec: number;
  cpuUsPerMessage: number;
  /** Undefined if no dequeue call found messages. */
  dequeueCallMeanMs: number | undefined;
  dequeueCallP50Ms: number | undefined;
  dequeueCallP99Ms: number | undefined;
  dequeuePerSecByInstance: number[];
  /** Undefined where no lock was waited for, and in runs of earlier versions. */
  writeLockElsewhere: number | undefined;
  /** Undefined without raw probes. */
  rawRatio: number | undefined;
}

export interface QueuePoint extends Pick<Point, 'program' | 'system' | 'waits' | 'integrity'> {
  params: QueueParams;
  provenance: Provenance;
  /** Messages; a topic's message counts once. */
  enqueuePerSec: number;
  /** Deliveries; of a topic, over all subscribers. */
  dequeuePerSec: number;
  /** CPU of all instance processes over the measured window, per dequeued message. */
  cpuUsPerMessage: number;
  latencyMs: LatencyMs;
  dequeueCallMs: LatencyMs;
  /** Undefined if no dequeue call found messages. */
  dequeueCallMeanMs: number | undefined;
  /** Undefined if no commit was written. */
  syncWaitOfWrite: number | undefined;
  /** Shares of the sessions' time that their time books explain: of all instances together, and of each. Empty without books. */
  timeAccounted: number[];
  /** Undefined without books. */
  sessionCpuOfThread: number | undefined;
  /** The kernel's counters of its processes; null if the platform has none. */
  kernel: { writtenBytesPerSec: number; blocksPerSec: number; cores: number } | null;
  /** Cores that all instances together kept busy. */
  coresBusy: number;
  /** Cores that each instance kept busy, medians: if another one is busy in each repeat, their sum is less than `coresBusy`. */
  cpuShareByInstance: number[];
  dequeuePerSecByInstance: number[];
  repeats: QueueRepeat[];
}

export const isQueuePoint = ({ program }: Point): boolean => program === 'queue' || program === 'topic';

export function queuePointOf(point: Point): QueuePoint {
  const { program, system, params, waits, integrity, byInstance, figures } = point;
  return {
    program,
    system,
    params: queueParamsOf(params),
    provenance: provenanceOf(point),
    enqueuePerSec: figureOf(point, 'enqueuePerSec'),
    dequeuePerSec: figureOf(point, 'dequeuePerSec'),
    cpuUsPerMessage: figureOf(point, 'cpuUsPerMessage'),
    latencyMs: distributionOf(point, 'latency'),
    dequeueCallMs: distributionOf(point, 'dequeueCall'),
    dequeueCallMeanMs: figures.dequeueCallMeanMs?.value,
    kernel:
      figures.writtenBytesPerSec === undefined
        ? null
        : {
            writtenBytesPerSec: figures.writtenBytesPerSec.value,
            blocksPerSec: figureOf(point, 'blocksPerSec'),
            cores: figureOf(point, 'kernelCores'),
          },
    timeAccounted: [figures.timeAccounted?.value ?? [], byInstance.timeAccounted ?? []].flat(),
    sessionCpuOfThread: figures.sessionCpuOfThread?.value,
    syncWaitOfWrite: figures.syncWaitOfWrite?.value,
    coresBusy: coresBusyOf(point),
    cpuShareByInstance: byInstance.cpuShare ?? [],
    dequeuePerSecByInstance: byInstance.dequeuePerSec ?? [],
    waits,
    integrity,
    repeats: point.repeats.map(({ byInstance: each, ...repeat }, index) => {
      // If some repeats lack the figure, nothing tells which of them its values are from.
      const figure = (name: string) => {
        const values = figures[name]?.repeats;
        return values?.length === point.repeats.length ? values[index] : undefined;
      };
      return {
        ...repeat,
        enqueuePerSec: figure('enqueuePerSec') ?? 0,
        dequeuePerSec: figure('dequeuePerSec') ?? 0,
        cpuUsPerMessage: figure('cpuUsPerMessage') ?? 0,
        dequeueCallMeanMs: figure('dequeueCallMeanMs'),
        dequeueCallP50Ms: figure('dequeueCallP50Ms'),
        dequeueCallP99Ms: figure('dequeueCallP99Ms'),
        dequeuePerSecByInstance: each.dequeuePerSec ?? [],
        writeLockElsewhere: figure('writeLockElsewhere'),
        rawRatio: figure('rawRatio'),
      };
    }),
  };
}
