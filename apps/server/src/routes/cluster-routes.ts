import { Cluster, type ClusterInstance, type WaitFigure } from '@shardlab/contract';
import { type Instance, type WaitStats, waitQuantileMs } from '@shardlab/engine';
import type { App } from '../http/app-types.ts';

/** The cluster behind the queue API. */
export function clusterRoutes(app: App, { instance }: { instance: Instance }): void {
  app.get(
    '/api/cluster',
    {
      schema: { summary: 'Instances, their shards and waits', tags: ['cluster'], response: { 200: Cluster } },
    },
    async () => ({ instances: [toWire(instance)] }),
  );
}

function toWire(instance: Instance): ClusterInstance {
  const { cpu, ...stats } = instance.stats();
  return {
    ...stats,
    pid: process.pid,
    cpuMs: { session: cpu.sessionUs / 1000, writer: cpu.writerUs / 1000 },
    waits: instance.waits
      .snapshot()
      .filter(({ waits }) => waits > 0)
      .map(toFigure),
  };
}

function toFigure({ buckets, ...wait }: WaitStats): WaitFigure {
  return { ...wait, p99Ms: waitQuantileMs(buckets, 0.99) };
}
