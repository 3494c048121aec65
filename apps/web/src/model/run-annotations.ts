/** Faults and other events of a run as annotations of its time charts. */
import type { Tick, TickEvent } from '@shardlab/contract';
import type { TimeAnnotation } from './time-chart-data.ts';
import type { TimeRange } from './time-series.ts';

const labels: Record<TickEvent['type'], string> = {
  kill: 'killed',
  pause: 'paused',
  stop: 'stopped',
  start: 'started',
  'taken over': 'taken over',
  returned: 'returned',
  converting: 'being converted',
  converted: 'sharded',
};

export function runAnnotations(ticks: readonly Tick[], { fromMs, toMs }: TimeRange): TimeAnnotation[] {
  return ticks
    .flatMap(({ atMs, events = [] }) =>
      events.map(({ type, instance, agoMs }) => ({
        atMs: atMs - agoMs,
        label: `${instance === 0 ? 'queue' : `instance ${instance}`} ${labels[type]}`,
      })),
    )
    .filter((annotation) => annotation.atMs >= fromMs && annotation.atMs <= toMs);
}
