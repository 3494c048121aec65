/** The metrics that a scaling chart can show: the figures of a program, formatted by their units. */
import type { FigureInfo, ProgramInfo } from '@shardlab/contract';
import {
  formatAxisCount,
  formatCores,
  formatMicros,
  formatMs,
  formatNanos,
  formatRate,
  formatValue,
} from './format.ts';

/** The input of a metric, common to measured and simulated points. */
export interface PointMetrics {
  figures: Readonly<Record<string, { value: number }>>;
}

export interface Metric {
  /** The name of the figure. */
  id: string;
  /** Short name, for the control that selects the metric. */
  label: string;
  /** Title of the chart, to be followed by "over threads" or another axis. */
  title: string;
  unit: string;
  /** 0 if the point does not have the figure. */
  read(point: PointMetrics): number;
  format(value: number): string;
  formatAxis(value: number): string;
  /** A point whose repeats are not steady does not have it. */
  ifSteady: boolean;
  /** The parameter to which the ideal is proportional; the chart then shows a linear guide over it. */
  growsWith: string | null;
}

const formats: Readonly<Record<FigureInfo['format'], (value: number) => string>> = {
  rate: formatRate,
  nanoseconds: formatNanos,
  microseconds: formatMicros,
  milliseconds: formatMs,
  cores: formatCores,
  count: formatValue,
  ratio: formatValue,
};

const metricOf = ({ name, label, title, unit, format, ifSteady = false, growsWith }: FigureInfo): Metric => ({
  id: name,
  label,
  title,
  unit,
  read: ({ figures }) => figures[name]?.value ?? 0,
  format: formats[format],
  formatAxis: format === 'milliseconds' ? formatMs : format === 'cores' ? formatCores : formatAxisCount,
  ifSteady,
  growsWith: growsWith ?? null,
});

/** Metrics in the order of the program, whose first figure is shown by default. */
export const metricsOf = ({ figures }: Pick<ProgramInfo, 'figures'>): Metric[] => figures.map(metricOf);

/** The metric with this id, or the first one. */
export const chosenMetric = (metrics: readonly Metric[], id: string | undefined): Metric =>
  metrics.find((metric) => metric.id === id) ?? metrics[0]!;
