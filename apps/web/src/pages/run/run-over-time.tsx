import type { Point, ProgramInfo, Run, Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import {
  backlogLegend,
  cpuLegend,
  latencyLegend,
  rateLegend,
  waitLegend,
} from '../../charts/time-legends.ts';
import { describeCombination } from '../../model/combination-words.ts';
import { runProvenance } from '../../model/provenance.ts';
import { runAnnotations } from '../../model/run-annotations.ts';
import { backlogMarks, cpuMarks, latencyMarks, rateMarks, waitMarks } from '../../model/time-chart-data.ts';
import { backlogPanel, cpuPanel, latencyPanel, ratePanel, waitPanel } from '../../model/time-panels.ts';
import type { TimeCursor } from '../../parts/time-cursor.ts';
import { TimePanel } from './time-panel.tsx';
import type { TimeView } from './use-time-view.ts';

export interface RunOverTimeProps {
  run: Run;
  program: ProgramInfo;
  ticks: readonly Tick[];
  view: TimeView;
  selected: Point | null;
  cursor: TimeCursor;
  onSearch(change: { point: undefined }): void;
}

/** The time charts of a run. They share one time axis and one cursor. */
export function RunOverTime({ run, program, ticks, view, selected, cursor, onSearch }: RunOverTimeProps) {
  const cores = run.environment?.cores ?? null;
  const { range, trials } = view;
  // Programs that time no message have a backlog in its place.
  const hasLatency = program.figures.some(({ name }) => name.startsWith('latency'));
  const marks = useMemo(
    () => ({
      rate: rateMarks(trials),
      latency: latencyMarks(trials),
      backlog: backlogMarks(trials),
      cpu: cpuMarks(trials),
      waits: waitMarks(trials),
    }),
    [trials],
  );
  const annotations = useMemo(() => runAnnotations(ticks, range), [ticks, range]);
  // Only the first chart shows the labels: four charts with the same text would hide their lines.
  const unlabelled = useMemo(
    () => annotations.map((annotation) => ({ ...annotation, label: '' })),
    [annotations],
  );
  if (trials.length === 0)
    return (
      <section className="section" aria-labelledby="time">
        <h2 id="time">Over time</h2>
        <p className="empty">
          {run.status === 'queued' || run.status === 'running'
            ? 'Charts appear when the first trial starts.'
            : 'No time series was recorded.'}
        </p>
      </section>
    );
  const common = {
    range,
    trials,
    annotations: unlabelled,
    cursor,
    scenarioId: run.scenario.id,
    cores,
    provenance: runProvenance(run),
  };
  return (
    <section className="section" aria-labelledby="time">
      <div className="section-head">
        <h2 id="time">Over time</h2>
        {selected === null ? (
          <p className="small muted">Time since the start of the run. Shaded bands separate the trials.</p>
        ) : (
          <p className="row small">
            <span>Only {describeCombination(selected)}</span>
            <button
              type="button"
              className="button button-quiet"
              onClick={() => onSearch({ point: undefined })}
            >
              Show the whole run
            </button>
          </p>
        )}
      </div>
      <div className="split split-even">
        <TimePanel
          {...common}
          {...ratePanel}
          marks={marks.rate}
          annotations={annotations}
          legend={rateLegend(trials)}
        />
        {hasLatency ? (
          <TimePanel {...common} {...latencyPanel} marks={marks.latency} legend={latencyLegend(trials)} />
        ) : (
          <TimePanel {...common} {...backlogPanel} marks={marks.backlog} legend={backlogLegend(trials)} />
        )}
        <TimePanel {...common} {...cpuPanel} marks={marks.cpu} legend={cpuLegend(trials)} />
        <TimePanel {...common} {...waitPanel} marks={marks.waits} legend={waitLegend(trials)} />
      </div>
    </section>
  );
}
