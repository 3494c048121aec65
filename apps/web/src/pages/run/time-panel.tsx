import { numberParam } from '@shardlab/contract';
import { useCallback, useEffect, useMemo } from 'react';
import type { LegendItem } from '../../charts/svg-document.ts';
import { createTimeChart, type TimeChart, type TimeChartData } from '../../charts/time-chart.ts';
import { coresLegend } from '../../charts/time-legends.ts';
import { describeCombination } from '../../model/combination-words.ts';
import type { DataTable } from '../../model/data-table.ts';
import { clockPrecision, formatClock } from '../../model/format.ts';
import { shownReference, type TimeAnnotation, type TimeMarks } from '../../model/time-chart-data.ts';
import type { TimePanelSpec } from '../../model/time-panels.ts';
import { sampleAt, type TimeRange, type TrialSamples } from '../../model/time-series.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Legend } from '../../parts/legend-marks.tsx';
import { moveTimeCursor, type TimeCursor, useCursorTime } from '../../parts/time-cursor.ts';
import { useChart, useWidth } from '../../parts/use-chart.ts';

export interface TimePanelProps extends TimePanelSpec {
  range: TimeRange;
  trials: readonly TrialSamples[];
  marks: TimeMarks;
  /** Events to mark on the time axis. */
  annotations: readonly TimeAnnotation[];
  cursor: TimeCursor;
  scenarioId: string;
  /** Cores of the machine; null if unknown. */
  cores: number | null;
  legend: readonly LegendItem[];
  /** Where the data come from, below a saved image. */
  provenance: string;
}

const height = 190;

/** One time chart with the shared cursor. */
export function TimePanel(props: TimePanelProps) {
  const { title, cursor, trials, range, cores, marks, annotations, scale, showsCores, formatAxis } = props;
  const { box, width } = useWidth();
  const create = useCallback(
    (svg: SVGSVGElement): TimeChart => createTimeChart(svg, { onCursor: cursor.set }),
    [cursor],
  );
  const reference = showsCores ? shownReference(cores, marks) : null;
  const data = useMemo(
    () => ({
      width: Math.max(width, 240),
      height,
      range,
      marks,
      annotations,
      trials,
      scale,
      reference,
      formatAxis,
    }),
    [width, range, marks, annotations, trials, scale, reference, formatAxis],
  );
  const legend = reference === null ? props.legend : [...props.legend, coresLegend(reference)];
  const { element, chart } = useChart<TimeChartData, TimeChart>(create, data);
  useEffect(() => {
    chart.current?.moveCursor(cursor.get());
    return cursor.subscribe(() => chart.current?.moveCursor(cursor.get()));
  }, [cursor, chart]);
  const atMs = useCursorTime(cursor);
  const found = sampleAt(trials, atMs ?? range.toMs);
  const clock =
    found === null ? '' : formatClock(found.sample.atMs, clockPrecision(range.toMs - range.fromMs));
  return (
    <ChartFrame
      title={title}
      unit={props.unit}
      fileName={`${props.scenarioId}-${props.id}-over-time`}
      table={() => tableOf(props)}
      svg={element}
      box={box}
      height={height}
      saved={{ legend, provenance: props.provenance }}
      legend={<Legend items={legend} />}
      readout={found === null ? '–' : <Readout {...found} clock={clock} readout={props.readout} />}
      spoken={found === null ? 'no data' : spokenOf({ ...found, clock }, props.readout)}
      cursor={{
        now: Math.round((atMs ?? range.toMs) / 1000),
        max: Math.max(1, Math.round(range.toMs / 1000)),
        onKey: (key) => moveTimeCursor(cursor, key, trials),
      }}
    />
  );
}

type Found = NonNullable<ReturnType<typeof sampleAt>> & { clock: string };

function Readout({ trial, sample, clock, readout }: Found & Pick<TimePanelSpec, 'readout'>) {
  return (
    <>
      {clock} {describeCombination(trial)}:{' '}
      {readout(sample).map(({ name, text }, index) => (
        <span key={name}>
          {index > 0 ? ', ' : ''}
          {name} <b>{text}</b>
        </span>
      ))}
    </>
  );
}

function spokenOf({ trial, sample, clock }: Found, readout: TimePanelSpec['readout']): string {
  const words = readout(sample).map(({ name, text }) => `${name} ${text}`);
  return `${clock}, ${describeCombination(trial)}: ${words.join(', ')}`;
}

function tableOf({ trials, columns }: TimePanelProps): DataTable {
  return {
    columns: [
      'Seconds',
      'Queue',
      'Instances',
      'Threads',
      'Round trip ms',
      ...columns.map(({ name }) => name),
    ],
    rows: trials.flatMap(({ system, params, samples }) =>
      samples.map((sample) => [
        sample.atMs / 1000,
        system,
        ...['instances', 'threads', 'roundTripMs'].map((name) =>
          name in params ? numberParam(params, name) : null,
        ),
        ...columns.map(({ read }) => read(sample)),
      ]),
    ),
  };
}
