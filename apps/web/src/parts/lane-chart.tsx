import { useCallback, useMemo, useState } from 'react';
import type { LegendItem } from '../charts/svg-document.ts';
import { createSwimlaneChart, swimlaneHeight, timeScale } from '../charts/swimlane-chart.ts';
import type { DataTable } from '../model/data-table.ts';
import type { Lane } from '../model/swimlanes.ts';
import { ChartFrame } from './chart-frame.tsx';
import { Legend } from './legend-marks.tsx';
import { rangeCursor } from './range-cursor.ts';
import { useChart, useWidth } from './use-chart.ts';

/** Swimlanes with a time cursor. */
export function LaneChart(props: {
  /** Where the data come from, below a saved image. */
  provenance: string;
  lanes: readonly Lane[];
  title: string;
  /** Unit of the time axis, in words. */
  unit: string;
  /** The data as a table; default all spans and moments of the lanes, with times in `timeUnit`. */
  table?: () => DataTable;
  timeUnit?: string;
  fileName: string;
  legend: readonly LegendItem[];
  /** All of it in a sentence. */
  words: string;
  wordsAt(time: number): string;
  format(time: number): string;
  /** A remark below the plot. */
  note?: string;
}) {
  const { provenance, lanes, title, unit, timeUnit = '', fileName, legend, wordsAt, format } = props;
  const [cursor, setCursor] = useState<number | null>(null);
  const { box, width } = useWidth();
  const create = useCallback((svg: SVGSVGElement) => createSwimlaneChart(svg, { onCursor: setCursor }), []);
  const data = useMemo(
    () => ({ width: Math.max(width, 240), lanes, format, cursor }),
    [width, lanes, format, cursor],
  );
  const { element } = useChart(create, data);
  const range = timeScale(data).domain() as [number, number];
  const words = cursor === null ? props.words : wordsAt(cursor);
  return (
    <ChartFrame
      title={title}
      unit={unit}
      fileName={fileName}
      table={props.table ?? (() => tableOf(lanes, timeUnit))}
      svg={element}
      box={box}
      height={swimlaneHeight(lanes.length)}
      saved={{ legend, provenance }}
      legend={<Legend items={legend} />}
      readout={words}
      spoken={words}
      cursor={rangeCursor(range, cursor, setCursor)}
      note={props.note}
    />
  );
}

const tableOf = (lanes: readonly Lane[], timeUnit: string): DataTable => ({
  columns: ['Lane', 'Outcome', 'What', `From (${timeUnit})`, `To (${timeUnit})`],
  rows: lanes.flatMap(({ label, outcome, spans, moments }) => [
    ...spans.map(({ name, from, to }) => [label, outcome, name, from, to]),
    ...moments.map(({ name, at }) => [label, outcome, name, at, at]),
  ]),
});
