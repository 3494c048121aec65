/** Declarations of a program's figures, by format. */
import type { FigureInfo } from '@shardlab/contract';

interface FigureWords {
  /** Label in tables and menus; default the title. */
  label?: string;
  /** Default that of the format. */
  unit?: string;
}

const inFormat =
  (format: FigureInfo['format'], usualUnit: string) =>
  (name: string, title: string, { label = title, unit = usualUnit }: FigureWords = {}): FigureInfo => ({
    name,
    label,
    title,
    unit,
    format,
  });

export const count = inFormat('count', 'count');
export const rate = inFormat('rate', 'messages per second');
export const ratio = inFormat('ratio', 'ratio');
export const cores = inFormat('cores', 'cores');
export const milliseconds = inFormat('milliseconds', 'milliseconds');
export const nanoseconds = inFormat('nanoseconds', 'nanoseconds');
export const microseconds = inFormat('microseconds', 'microseconds');
