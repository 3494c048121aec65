import type { ProgramInfo, Run } from '@shardlab/contract';
import { useCallback, useMemo, useState } from 'react';
import { createScalingChart } from '../../charts/scaling-chart.ts';
import { instancesLegend } from '../../charts/scaling-legend.ts';
import type { LegendItem } from '../../charts/svg-document.ts';
import { lineColors, systemsIn } from '../../charts/visual-encoding.ts';
import { runLetter, runsProvenance } from '../../model/compare-runs.ts';
import type { DataTable } from '../../model/data-table.ts';
import type { Metric } from '../../model/point-metrics.ts';
import { describeSeries, findPoint, scalingSeries } from '../../model/scaling-series.ts';
import { type SweepAxis, sweepAxis } from '../../model/sweep-axis.ts';
import { systemInWords } from '../../model/system-words.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Choice } from '../../parts/choice.tsx';
import { Legend } from '../../parts/legend-marks.tsx';
import { usePointCursor } from '../../parts/point-cursor.ts';
import { useChart, useWidth } from '../../parts/use-chart.ts';

interface ComparedLinesProps {
  runs: readonly Run[];
  program: ProgramInfo;
  metric: Metric;
}

/** The lines of all runs in one chart, of one system, since colours tell the runs apart; nothing for runs without an axis. */
export function ComparedLines(props: ComparedLinesProps) {
  const { runs, program } = props;
  const [first] = runs;
  const axis = useMemo(() => sweepAxis(first!.scenario.sweep, program), [first, program]);
  return axis === null ? null : <Lines {...props} axis={axis} />;
}

function Lines({ runs, program, metric, axis }: ComparedLinesProps & { axis: SweepAxis }) {
  const [first] = runs;
  const systems = useMemo(() => systemsIn(runs.flatMap(({ points }) => points)), [runs]);
  const [chosen, setChosen] = useState<string | null>(null);
  const system = chosen ?? systems[0] ?? '';
  const series = useMemo(
    () =>
      runs.flatMap((run, index) =>
        scalingSeries(
          run.points.filter((point) => point.system === system),
          { metric, roundTrip: 'all', axis, sweep: first!.scenario.sweep, program },
        ).map((each) => ({
          ...each,
          id: `${index}/${each.id}`,
          color: lineColors[index]!,
          otherParams: [...each.otherParams, `run ${runLetter(index)}`],
          points: each.points.map((point) => ({ ...point, key: `${index}/${point.key}` })),
        })),
      ),
    [runs, first, metric, program, axis, system],
  );
  const { cursor, setCursor, sliderOver } = usePointCursor();
  const { box, width } = useWidth();
  const create = useCallback(
    (svg: SVGSVGElement) => createScalingChart(svg, { onCursor: setCursor, onSelect: setCursor }),
    [setCursor],
  );
  const height = 340;
  const data = useMemo(
    () => ({
      width: Math.max(width, 240),
      height,
      panels: [{ id: 'all', title: '', series, live: null }],
      axis,
      xs: series.flatMap(({ points }) => points.map(({ x }) => x)),
      domain: null,
      references: [],
      labelWidth: null,
      hasLinearGuide: false,
      formatAxis: metric.formatAxis,
      cursor,
      selected: null,
    }),
    [width, series, axis, metric, cursor],
  );
  const { element } = useChart(create, data);
  const shapes = useMemo(() => instancesLegend(series), [series]);
  const legendOf = (nameOf: (run: Run, index: number) => string): LegendItem[] => [
    ...runs.map((run, index) => ({
      label: nameOf(run, index),
      color: lineColors[index]!,
      mark: { dash: null },
    })),
    ...shapes,
  ];
  const found = findPoint(series, cursor);
  const words =
    found === null
      ? `${metric.label} of ${systemInWords(system)} in ${runs.length} runs.`
      : `${describeSeries(found.series)}, ${axis.describe(found.point.x)}: ${metric.format(found.point.value)}`;
  return (
    <ChartFrame
      title={`${metric.title} over ${axis.over}, all runs`}
      unit={`${metric.unit}, both axes logarithmic; shapes stand for instances`}
      fileName={`comparison-${metric.id}-lines`}
      table={(): DataTable => ({
        columns: ['Series', axis.title, metric.unit],
        rows: series.flatMap((each) =>
          each.points.map((point) => [describeSeries(each), point.x, point.value]),
        ),
      })}
      svg={element}
      box={box}
      height={height}
      saved={{
        legend: legendOf((run, index) => `${runLetter(index)} ${run.id.slice(0, 8)}`),
        provenance: runsProvenance(runs),
      }}
      controls={
        systems.length > 1 ? (
          <Choice
            label="System"
            value={system}
            options={systems.map((value) => ({ value, label: systemInWords(value) }))}
            onChange={setChosen}
          />
        ) : undefined
      }
      legend={
        <Legend items={legendOf((_, index) => `${runLetter(index)}${index === 0 ? ', baseline' : ''}`)} />
      }
      readout={words}
      spoken={words}
      cursor={sliderOver(series)}
    />
  );
}
