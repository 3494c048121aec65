/** What happened to instances during a run, as marks on its time axis. */
import type { Happening, Tick } from '@shardlab/contract';
import type { TimeMoment } from './time-chart-data.ts';
import type { TimeRange } from './time-series.ts';

const words: Record<Happening['what'], string> = {
  kill: 'killed',
  pause: 'paused',
  stop: 'stopped',
  start: 'started',
  'taken over': 'taken over',
  'given back': 'back',
  converting: 'being converted',
  converted: 'sharded',
};

export function runMoments(ticks: readonly Tick[], { fromMs, toMs }: TimeRange): TimeMoment[] {
  return ticks
    .flatMap(({ atMs, happened = [] }) =>
      happened.map(({ what, instance, agoMs }) => ({
        atMs: atMs - agoMs,
        label: `${instance === 0 ? 'queue' : `instance ${instance}`} ${words[what]}`,
      })),
    )
    .filter((moment) => moment.atMs >= fromMs && moment.atMs <= toMs);
}
