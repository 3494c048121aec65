import type { Run } from '@shardlab/contract';
import { useCallback, useMemo, useState } from 'react';
import type { LegendItem } from '../../charts/svg-document.ts';
import { createSwimlaneChart, swimlaneHeight, timeScale } from '../../charts/swimlane-chart.ts';
import type { DataTable } from '../../model/data-table.ts';
import { runProvenance } from '../../model/run-provenance.ts';
import type { Lane } from '../../model/swimlanes.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Swatch } from '../../parts/legend-marks.tsx';
import { useChart, useWidth } from '../../parts/use-chart.ts';

/** Steps of the keyboard cursor over the whole time. */
const steps = 60;

/** Swimlanes with a time cursor. */
export function LaneChart(props: {
  run: Run;
  lanes: readonly Lane[];
  title: string;
  /** Of the time axis, in words. */
  unit: string;
  /** Of the times in the table: "µs". */
  timeUnit: string;
  fileName: string;
  legend: readonly LegendItem[];
  /** All of it in a sentence. */
  words: string;
  wordsAt(time: number): string;
  format(time: number): string;
}) {
  const { run, lanes, title, unit, timeUnit, fileName, legend, wordsAt, format } = props;
  const [cursor, setCursor] = useState<number | null>(null);
  const { box, width } = useWidth();
  const create = useCallback((svg: SVGSVGElement) => createSwimlaneChart(svg, { onCursor: setCursor }), []);
  const data = useMemo(
    () => ({ width: Math.max(width, 240), lanes, format, cursor }),
    [width, lanes, format, cursor],
  );
  const { element } = useChart(create, data);
  const [first, last] = timeScale(data).domain() as [number, number];
  const words = cursor === null ? props.words : wordsAt(cursor);
  const onKey = (key: string): boolean => {
    const step = (last - first) / steps;
    if (key === 'Escape') setCursor(null);
    else if (key === 'ArrowRight') setCursor(Math.min(last, (cursor ?? first) + step));
    else if (key === 'ArrowLeft') setCursor(Math.max(first, (cursor ?? last) - step));
    else if (key === 'Home') setCursor(first);
    else if (key === 'End') setCursor(last);
    else return false;
    return true;
  };
  return (
    <ChartFrame
      title={title}
      unit={unit}
      fileName={fileName}
      table={(): DataTable => ({
        columns: ['Lane', 'Outcome', 'What', `From (${timeUnit})`, `To (${timeUnit})`],
        rows: lanes.flatMap(({ label, outcome, spans, moments }) => [
          ...spans.map(({ name, from, to }) => [label, outcome, name, from, to]),
          ...moments.map(({ name, at }) => [label, outcome, name, at, at]),
        ]),
      })}
      svg={element}
      box={box}
      height={swimlaneHeight(lanes.length)}
      saved={{ legend, provenance: runProvenance(run) }}
      legend={
        <ul className="legend" aria-label="Legend">
          {legend.map(({ label, color, opacity }) => (
            <li key={label}>
              <Swatch color={color} opacity={opacity ?? 1} />
              {label}
            </li>
          ))}
        </ul>
      }
      readout={words}
      spoken={words}
      cursor={{
        now: cursor === null ? 0 : Math.round(((cursor - first) / (last - first)) * steps),
        max: steps,
        onKey,
      }}
    />
  );
}
