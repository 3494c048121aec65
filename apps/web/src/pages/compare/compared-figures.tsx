import type { ProgramInfo, Run } from '@shardlab/contract';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { compareHeight, createCompareChart } from '../../charts/compare-chart.ts';
import { lineColors } from '../../charts/visual-encoding.ts';
import { eventColors } from '../../charts/waits-color.ts';
import { activityOf, activityOrder } from '../../model/active-sessions.ts';
import {
  type ComparedPoint,
  comparedPoints,
  comparisonInWords,
  isClear,
  type RunRatio,
  runLetter,
  runsProvenance,
} from '../../model/compare-runs.ts';
import type { DataTable } from '../../model/data-table.ts';
import { formatRatioChange, formatRatioTick } from '../../model/format-change.ts';
import { chosenMetric, type Metric, metricsOf } from '../../model/point-metrics.ts';
import { ActivityWaterfall } from '../../parts/activity-waterfall.tsx';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Swatch } from '../../parts/legend-marks.tsx';
import { usePointerChart, useWidth } from '../../parts/use-chart.ts';
import { useChartHint } from '../../parts/use-chart-hint.ts';
import { ComparedLines } from './compared-lines.tsx';

/** The figures of runs of one program: ratios to the baseline, lines over each other, and where a message's time went. */
export function ComparedFigures({ runs, program }: { runs: readonly Run[]; program: ProgramInfo }) {
  const search = useSearch({ from: '/compare' });
  const navigate = useNavigate({ from: '/compare' });
  const metrics = metricsOf(program);
  const metric = chosenMetric(metrics, search.metric);
  const rows = useMemo(() => comparedPoints(runs, metric.id, program), [runs, metric.id, program]);
  const [selected, setSelected] = useState<string | null>(null);
  const row =
    rows.find(({ key }) => key === selected) ??
    rows.find(({ ratios }) => ratios.some((each) => each !== null));
  return (
    <section className="section" aria-labelledby="figures">
      <div className="section-head">
        <h2 id="figures">Figures</h2>
        <label className="field">
          <span>Figure</span>
          <select
            className="input"
            value={metric.id}
            onChange={(event) =>
              void navigate({
                search: (before) => ({ ...before, metric: event.target.value }),
                replace: true,
                resetScroll: false,
              })
            }
          >
            {metrics.map(({ id, label }) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
      <ul className="plain-list" aria-label="In words">
        {runs.slice(1).map((run, index) => (
          <li key={run.id}>
            <strong>{runLetter(index + 1)}</strong>: {comparisonInWords(rows, index + 1)}.
          </li>
        ))}
      </ul>
      {rows.length === 0 ? null : (
        <div className="split split-even compare-figures">
          <Ratios
            runs={runs}
            metric={metric}
            rows={rows}
            selected={row?.key ?? null}
            onSelect={setSelected}
          />
          <ComparedLines runs={runs} program={program} metric={metric} />
        </div>
      )}
      {row === undefined ? null : <ChangedTime runs={runs} row={row} />}
    </section>
  );
}

function Ratios(props: {
  runs: readonly Run[];
  metric: Metric;
  rows: readonly ComparedPoint[];
  selected: string | null;
  onSelect(key: string): void;
}) {
  const { runs, metric, rows, selected, onSelect } = props;
  const [cursor, setCursor] = useState<string | null>(null);
  const { box, width } = useWidth();
  const data = useMemo(
    () => ({
      width: Math.max(width, 240),
      rows,
      colors: runs.map((_, index) => lineColors[index]!),
      format: formatRatioTick,
      cursor,
      selected,
    }),
    [width, rows, runs, cursor, selected],
  );
  const { element } = usePointerChart(createCompareChart, { onCursor: setCursor, onSelect }, data);
  const at = rows.find(({ key }) => key === (cursor ?? selected));
  const pointing = useChartHint('Point at a bar or use the arrow keys.');
  const words = at === undefined ? pointing : ratioInWords(at, metric);
  const now = rows.findIndex(({ key }) => key === (cursor ?? selected));
  return (
    <ChartFrame
      title={`${metric.title} as a multiple of the baseline`}
      unit="bar: 95 % interval; thin line: from the least to the greatest of few repeats; logarithmic"
      fileName={`comparison-${metric.id}`}
      table={() => ratioTable(runs, rows, metric)}
      svg={element}
      box={box}
      height={compareHeight(rows.length, runs.length)}
      saved={{
        legend: runs.slice(1).map((run, index) => ({
          label: `${runLetter(index + 1)} ${run.id.slice(0, 8)}`,
          color: lineColors[index + 1]!,
        })),
        provenance: runsProvenance(runs),
      }}
      legend={
        <ul className="legend" aria-label="Legend">
          {runs.slice(1).map((run, index) => (
            <li key={run.id}>
              <Swatch color={lineColors[index + 1]!} />
              {runLetter(index + 1)}
            </li>
          ))}
        </ul>
      }
      readout={words}
      spoken={words}
      cursor={{
        now: Math.max(0, now),
        max: Math.max(1, rows.length - 1),
        onKey(key) {
          const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
          if (key === 'Escape') setCursor(null);
          else if (key === 'Enter' || key === ' ') {
            if (cursor !== null) onSelect(cursor);
          } else if (step !== undefined)
            setCursor(rows[Math.max(0, Math.min(rows.length - 1, now + step))]?.key ?? null);
          else return false;
          return true;
        },
      }}
    />
  );
}

function ratioInWords({ words, ratios, points }: ComparedPoint, metric: Metric): string {
  const parts = ratios.flatMap((ratio, index) => {
    if (ratio === null) return [];
    return [
      `${runLetter(index)} ${formatRatioChange(ratio.ratio)} (${trustInWords(ratio)}), ${metric.format(metric.read(points[index]!))}`,
    ];
  });
  return `${words}: ${parts.join('; ') || 'not in the baseline'}`;
}

/** "+4 % to +12 %, clear"; "one repeat", or repeats that agree, have no range. */
function trustInWords(ratio: RunRatio): string {
  const [low, high] = ratio.interval ?? ratio.range;
  const clear = isClear(ratio);
  if (clear === null && low === high) return 'one repeat';
  const trust = clear === null ? 'range of repeats, no interval' : clear ? 'clear' : 'not distinguishable';
  return `${formatRatioChange(low)} to ${formatRatioChange(high)}, ${trust}`;
}

function ratioTable(runs: readonly Run[], rows: readonly ComparedPoint[], metric: Metric): DataTable {
  const others = runs.map((_, index) => index).slice(1);
  return {
    columns: [
      'Point',
      ...runs.map((_, index) => `${runLetter(index)} (${metric.unit})`),
      ...others.flatMap((index) => [
        `${runLetter(index)} ÷ A`,
        `${runLetter(index)} ÷ A, from`,
        `${runLetter(index)} ÷ A, to`,
        `${runLetter(index)}, what the range is`,
      ]),
    ],
    rows: rows.map(({ words, points, ratios }) => [
      words,
      ...points.map((point) => (point?.figures[metric.id] === undefined ? null : metric.read(point))),
      ...others.flatMap((index): (string | number | null)[] => {
        const ratio = ratios[index] ?? null;
        if (ratio === null) return [null, null, null, null];
        const [low, high] = ratio.interval ?? ratio.range;
        return [
          Number(ratio.ratio.toPrecision(4)),
          Number(low.toPrecision(4)),
          Number(high.toPrecision(4)),
          ratio.interval === null ? 'repeats' : '95 % interval',
        ];
      }),
    ]),
  };
}

/** Changes of a message's time at one point, from the baseline to each other run. */
function ChangedTime({ runs, row }: { runs: readonly Run[]; row: ComparedPoint }) {
  const activities = useMemo(
    () => row.points.map((point) => (point === undefined ? null : activityOf(point))),
    [row],
  );
  const colors = useMemo(
    () => eventColors(activityOrder([{ points: activities.filter((each) => each !== null) }])),
    [activities],
  );
  const from = activities[0];
  if (from === null || from === undefined || from.activities.length === 0) return null;
  return (
    <section className="section" aria-labelledby="changed-time">
      <h3 id="changed-time">{row.words}</h3>
      <div className="split split-even">
        {runs.slice(1).map((run, index) => {
          const to = activities[index + 1];
          return to === null || to === undefined ? null : (
            <ActivityWaterfall
              key={run.id}
              from={{ label: 'A, the baseline', at: from }}
              to={{ label: runLetter(index + 1), at: to }}
              colors={colors}
              fileName={`comparison-${runLetter(index + 1)}-time`}
              provenance={runsProvenance([runs[0]!, run])}
            />
          );
        })}
      </div>
    </section>
  );
}
