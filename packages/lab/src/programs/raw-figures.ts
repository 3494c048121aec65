/** Figures that raw probes add to those of a program, if a scenario requests them. */
import type { FigureInfo } from '@shardlab/contract';

export const rawFigures: readonly FigureInfo[] = [
  {
    name: 'rawPerSec',
    label: 'Raw limit',
    title: 'Rows per second through SQLite alone, before and after the trial',
    unit: 'rows per second',
    format: 'rate',
  },
  {
    name: 'rawRatio',
    label: 'Share of the raw limit',
    title: 'Rate as a share of the raw limit beside the trial',
    unit: 'ratio',
    format: 'ratio',
  },
];
