import type { ProgramInfo, Run, Tick } from '@shardlab/contract';
import { type ReactNode, useMemo, useState } from 'react';
import { combinationLegend, createCombinationChart } from '../charts/combination-chart.ts';
import type { PointerEvents } from '../charts/follow-pointer.ts';
import { lineStyles } from '../charts/line-styles.ts';
import { themeColor } from '../charts/visual-encoding.ts';
import { layoutCombinations } from '../model/combination-layout.ts';
import {
  type CombinationRow,
  combinationRows,
  combinationTable,
  moveRow,
} from '../model/combination-rows.ts';
import { formatValue, plural } from '../model/format.ts';
import type { Metric } from '../model/point-metrics.ts';
import { ChartFrame } from './chart-frame.tsx';
import { usePointerChart, useWidth } from './use-chart.ts';
import { useChartHint } from './use-chart-hint.ts';

export interface CombinationFigureProps {
  /** The points may be none: then the plan is shown. */
  run: Pick<Run, 'scenario' | 'scale' | 'points'> & Partial<Pick<Run, 'status'>>;
  program: ProgramInfo;
  metric: Metric;
  title: string;
  /** Where the data come from, below a saved image. */
  provenance: string;
  /** The newest tick of a run under way; null for none. */
  live: Tick | null;
  /** Key of a point to mark. */
  selected: string | null;
  /** Left out: the cursor moves to the selected row. */
  onSelect?(key: string): void;
  controls?: ReactNode;
}

/** A bar for each combination of a run that has no axis, such as one over kinds of faults. */
export function CombinationFigure(props: CombinationFigureProps) {
  const { run, program, metric, live, selected, onSelect } = props;
  const view = useMemo(() => combinationRows(run, { program, metric, live }), [run, program, metric, live]);
  const { rows, references, leftOut } = view;
  const [cursor, setCursor] = useState<string | null>(null);
  const pointing = useChartHint('Point at a row or use the arrow keys.', 'Touch a row to see its values.');
  const { box, width: measured } = useWidth();
  const width = Math.max(measured, 240);
  const isMeasured = (key: string | null) => rows.some((row) => row.key === key && row.value !== null);
  const events: PointerEvents = {
    onCursor: setCursor,
    onSelect: (key) => (onSelect !== undefined && isMeasured(key) ? onSelect(key) : setCursor(key)),
  };
  const color = useMemo(() => {
    const styles = lineStyles(rows.map(({ system }) => ({ system, otherParams: [] })));
    return (system: string) => styles.ofSystem(system) ?? themeColor.muted;
  }, [rows]);
  const { element } = usePointerChart(
    createCombinationChart,
    events,
    useMemo(
      () => ({ width, view, color, formatAxis: metric.formatAxis, cursor, selected }),
      [width, view, color, metric, cursor, selected],
    ),
  );
  const height = useMemo(() => layoutCombinations(view, width).height, [view, width]);
  const at = rows.find(({ key }) => key === (cursor ?? selected));
  const onKey = (key: string): boolean => {
    const next = moveRow(rows, cursor ?? selected, key);
    if (key === 'Escape') setCursor(null);
    else if (next !== null) setCursor(next);
    else if ((key === 'Enter' || key === ' ') && cursor !== null) events.onSelect(cursor);
    else return false;
    return true;
  };
  return (
    <ChartFrame
      title={props.title}
      unit={[
        metric.unit,
        ...(references.length > 0 ? ['wide pale lines: the document'] : []),
        ...(leftOut > 0 ? [`${plural(leftOut, 'planned combination')} not measured`] : []),
      ].join('; ')}
      fileName={`${run.scenario.id}-${metric.id}`}
      table={() => combinationTable(rows, `${metric.label} (${metric.unit})`)}
      svg={element}
      box={box}
      height={height}
      saved={{ legend: combinationLegend(view, color), provenance: props.provenance }}
      controls={props.controls}
      readout={at === undefined ? hintOf(rows, pointing) : <Readout row={at} />}
      spoken={at === undefined ? 'no row selected' : `${at.name}: ${at.text}`}
      cursor={{
        now: Math.max(
          0,
          rows.findIndex(({ key }) => key === at?.key),
        ),
        max: Math.max(1, rows.length - 1),
        onKey,
      }}
    />
  );
}

function hintOf(rows: readonly CombinationRow[], pointing: string): string {
  if (rows.every(({ value }) => value === null))
    return 'The rows are those of the plan. Bars appear as trials finish.';
  return rows.some(({ range }) => range !== null && range[0] < range[1])
    ? `${pointing} The stroke at the end of a bar is the 95 % interval; of fewer than five repeats, their range.`
    : pointing;
}

function Readout({ row: { name, text, range } }: { row: CombinationRow }) {
  return (
    <>
      <b>{text}</b>
      {range === null ? '' : ` (${formatValue(range[0])} to ${formatValue(range[1])})`} {name}
    </>
  );
}
