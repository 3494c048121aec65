import type { DocumentTable, Run } from '@shardlab/contract';
import { useCallback, useMemo } from 'react';
import { createScalingChart } from '../../charts/scaling-chart.ts';
import { lineColors, themeColor } from '../../charts/visual-encoding.ts';
import type { DataTable } from '../../model/data-table.ts';
import { formatAxisCount, formatValue } from '../../model/format.ts';
import { deviationInWords, type Guard, getsRows, getsSeries } from '../../model/gets-model.ts';
import { runProvenance } from '../../model/provenance.ts';
import { findPoint } from '../../model/scaling-series.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { LineSample } from '../../parts/legend-marks.tsx';
import { usePointCursor } from '../../parts/point-cursor.ts';
import { useChart, useWidth } from '../../parts/use-chart.ts';

const colors: Readonly<Record<string, string>> = {
  'the formula': themeColor.muted,
  'the document': lineColors[1]!,
  'measured here': lineColors[0]!,
};

const factors: Readonly<Record<Guard, number>> = { mutex: 12, latch: 6 };

/** Gets for each dequeue over the pairs of sessions: formula, document, and what was counted here. */
export function GetsOverPairs(props: {
  run: Run;
  guard: Guard;
  tables: { pairs: DocumentTable; model: DocumentTable };
}) {
  const { run, guard, tables } = props;
  const rows = useMemo(() => getsRows(run.points, guard, tables), [run.points, guard, tables]);
  const series = useMemo(
    () => getsSeries(rows, guard).map((each) => ({ ...each, color: colors[each.system]! })),
    [rows, guard],
  );
  const { cursor, setCursor, sliderOver } = usePointCursor();
  const { box, width } = useWidth();
  const create = useCallback(
    (svg: SVGSVGElement) => createScalingChart(svg, { onCursor: setCursor, onSelect: setCursor }),
    [setCursor],
  );
  const height = 280;
  const data = useMemo(
    () => ({
      width: Math.max(width, 240),
      height,
      panels: [{ id: 'all', title: '', series, live: null }],
      axis: { title: 'pairs of sessions', format: formatAxisCount },
      xs: rows.map(({ pairs }) => pairs),
      domain: null,
      references: [],
      labelWidth: null,
      hasLinearGuide: false,
      formatAxis: formatAxisCount,
      cursor,
      selected: null,
    }),
    [width, series, rows, cursor],
  );
  const { element } = useChart(create, data);
  const found = findPoint(series, cursor);
  const words =
    found === null
      ? deviationInWords(rows)
      : `${found.series.system}, ${found.point.x} pairs: ${formatValue(found.point.value)} gets per dequeue`;
  return (
    <ChartFrame
      title={`Gets of the ${guard} for each dequeue: ${factors[guard]} · N · M`}
      unit="gets per dequeue, both axes logarithmic; N pairs, M dequeues"
      fileName={`${run.scenario.id}-${guard}-gets`}
      table={(): DataTable => ({
        columns: [
          'Pairs',
          'Formula',
          'Document',
          'Measured here',
          'Misses',
          'Sleeps',
          'Wake-ups per dequeue',
        ],
        rows: rows.map((row) => [
          row.pairs,
          row.formula,
          row.document,
          row.ours,
          row.misses,
          row.sleeps,
          row.wakeUps,
        ]),
      })}
      svg={element}
      box={box}
      height={height}
      saved={{
        legend: series.map(({ system, color }) => ({ label: system, color })),
        provenance: runProvenance(run),
      }}
      legend={
        <ul className="legend" aria-label="Legend">
          {series.map(({ system, color, drawnAs, roundTripMs }) => (
            <li key={system}>
              <LineSample
                dash={drawnAs === 'simulated' ? '0.5 5' : roundTripMs > 0 ? '6 4' : null}
                round={drawnAs === 'simulated'}
                color={color}
              />
              {system}
            </li>
          ))}
        </ul>
      }
      readout={words}
      spoken={words}
      cursor={sliderOver(series)}
    />
  );
}
