import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react';
import type { LegendItem } from '../charts/svg-document.ts';
import { createTimeChart, type TimeChart, type TimeChartData } from '../charts/time-chart.ts';
import { systemColor } from '../charts/visual-encoding.ts';
import type { DataTable } from '../model/data-table.ts';
import { formatAxisCount } from '../model/format.ts';
import type { TimeAnnotation, TimeMarks } from '../model/time-chart-data.ts';
import type { TimeRange } from '../model/time-series.ts';
import { ChartFrame } from './chart-frame.tsx';
import { Legend } from './legend-marks.tsx';
import { moveTimeCursor, TimeCursor, useCursorTime } from './time-cursor.ts';
import { useChart, useWidth } from './use-chart.ts';

const height = 200;
const noAnnotations: readonly TimeAnnotation[] = [];

export interface SampleChartProps<Sample extends { atMs: number }> {
  title: string;
  unit: string;
  fileName: string;
  samples: readonly Sample[];
  range: TimeRange;
  /** Epoch milliseconds of time 0, for an axis that shows the time of day. */
  startMs?: number;
  marks: TimeMarks;
  /** Format of the vertical axis; default: counts, such as 3k. */
  formatAxis?(value: number): string;
  annotations?: readonly TimeAnnotation[];
  /** Text in the plot while nothing is measured. */
  noValues?: string;
  system: string;
  /** Names of the heavy line and of the thin one, if there is one. */
  lines: { primary: string; secondary?: string };
  /** Where the data come from, below a saved image. */
  provenance: string;
  table(): DataTable;
  readout(sample: Sample): ReactNode;
  spoken(sample: Sample): string;
}

/** One figure, or two of one unit, over time. */
export function SampleChart<Sample extends { atMs: number }>(props: SampleChartProps<Sample>) {
  const { samples, range, startMs, marks, annotations = noAnnotations, noValues } = props;
  const { formatAxis = formatAxisCount } = props;
  const [cursor] = useState(() => new TimeCursor());
  const { box, width } = useWidth();
  const create = useCallback(
    (svg: SVGSVGElement): TimeChart => createTimeChart(svg, { onCursor: cursor.set }),
    [cursor],
  );
  const data = useMemo(
    (): TimeChartData => ({
      width: Math.max(width, 240),
      height,
      range,
      ...(startMs === undefined ? {} : { startMs }),
      marks,
      annotations,
      trials: [],
      scale: 'linear',
      reference: null,
      ...(noValues === undefined ? {} : { note: noValues }),
      formatAxis,
    }),
    [width, range, startMs, marks, annotations, noValues, formatAxis],
  );
  const { element, chart } = useChart<TimeChartData, TimeChart>(create, data);
  useEffect(() => cursor.subscribe(() => chart.current?.moveCursor(cursor.get())), [cursor, chart]);
  const atMs = useCursorTime(cursor);
  const legend = legendOf(props);
  const last = samples.at(-1);
  const shown = atMs === null ? last : nearest(samples, atMs);
  return (
    <ChartFrame
      title={props.title}
      unit={props.unit}
      fileName={props.fileName}
      table={props.table}
      svg={element}
      box={box}
      height={height}
      saved={{ legend, provenance: props.provenance }}
      legend={<Legend items={legend} />}
      readout={shown === undefined ? '–' : props.readout(shown)}
      spoken={shown === undefined ? 'no data' : props.spoken(shown)}
      cursor={{
        now: Math.round((atMs ?? last?.atMs ?? 0) / 1000),
        max: Math.round(range.toMs / 1000),
        onKey: (key) => moveTimeCursor(cursor, key, [{ samples }]),
      }}
    />
  );
}

function legendOf({ system, lines }: Pick<SampleChartProps<never>, 'system' | 'lines'>): LegendItem[] {
  const color = systemColor(system);
  return [
    { label: lines.primary, color, mark: { dash: null } },
    ...(lines.secondary === undefined
      ? []
      : [{ label: lines.secondary, color, mark: { dash: null, isThin: true } }]),
  ];
}

function nearest<T extends { atMs: number }>(samples: readonly T[], atMs: number): T | undefined {
  return samples.reduce<T | undefined>(
    (best, sample) =>
      best === undefined || Math.abs(sample.atMs - atMs) < Math.abs(best.atMs - atMs) ? sample : best,
    undefined,
  );
}
