/** Figures that probes beside a trial add to those of a program, if a scenario requests them. */
import type { FigureInfo } from '@shardlab/contract';

const limit = (name: string, label: string, title: string, unit: string): FigureInfo => ({
  name: `${name}PerSec`,
  label,
  title,
  unit,
  format: 'rate',
});

const share = (name: string, label: string, title: string): FigureInfo => ({
  name: `${name}Ratio`,
  label,
  title,
  unit: 'ratio',
  format: 'ratio',
});

export const probeFigures: readonly FigureInfo[] = [
  limit(
    'raw',
    'Raw limit',
    'Rows per second through SQLite alone, before and after the trial',
    'rows per second',
  ),
  share('raw', 'Share of the raw limit', 'Rate as a share of the raw limit beside the trial'),
  limit(
    'logLoop',
    'Bound L',
    'Rate of a log alone with the sessions of the point in one process, beside the trial',
    'messages per second',
  ),
  share('logLoop', 'Share of L', 'Rate as a share of that of a log alone beside the trial'),
  limit(
    'groupLoop',
    'Groups in SQLite',
    'Rate of the same groups straight into SQLite with the sessions of the point in one process, beside the trial',
    'messages per second',
  ),
  share(
    'groupLoop',
    'Share of groups in SQLite',
    'Rate as a share of that of the same groups straight into SQLite beside the trial',
  ),
];
