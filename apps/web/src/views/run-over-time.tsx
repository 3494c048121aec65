import type { Point, Run, Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import { plural } from '../model/format.ts';
import { runMoments } from '../model/run-moments.ts';
import { cpuMarks, latencyMarks, rateMarks, waitMarks } from '../model/time-chart-data.ts';
import type { TimeCursor } from './time-cursor.ts';
import { CpuLegend, LatencyLegend, RateLegend, WaitLegend } from './time-legends.tsx';
import { TimePanel } from './time-panel.tsx';
import { cpuPanel, latencyPanel, ratePanel, waitPanel } from './time-panels.ts';
import type { TimeView } from './use-time-view.ts';

export interface RunOverTimeProps {
  run: Run;
  ticks: readonly Tick[];
  view: TimeView;
  chosen: Point | null;
  cursor: TimeCursor;
  onSearch(change: { point: undefined }): void;
}

/** Charts on one linked time axis: the cursor of one is the cursor of all. */
export function RunOverTime({ run, ticks, view, chosen, cursor, onSearch }: RunOverTimeProps) {
  const cores = run.environment?.cores ?? null;
  const { range, trials } = view;
  const marks = useMemo(
    () => ({
      rate: rateMarks(trials),
      latency: latencyMarks(trials),
      cpu: cpuMarks(trials),
      waits: waitMarks(trials),
    }),
    [trials],
  );
  const moments = useMemo(() => runMoments(ticks, range), [ticks, range]);
  // Named once: four charts full of the same words would hide their lines.
  const unnamed = useMemo(() => moments.map((moment) => ({ ...moment, label: '' })), [moments]);
  if (trials.length === 0)
    return (
      <section className="section" aria-labelledby="time">
        <h2 id="time">Over time</h2>
        <p className="empty">
          {run.status === 'queued' || run.status === 'running'
            ? 'The first figures come with the first trial.'
            : 'No figures over time were recorded.'}
        </p>
      </section>
    );
  const common = { range, trials, moments: unnamed, cursor, scenarioId: run.scenario.id, cores };
  return (
    <section className="section" aria-labelledby="time">
      <div className="section-head">
        <h2 id="time">Over time</h2>
        {chosen === null ? (
          <p className="small muted">Minutes and seconds since the start of the run; bands are trials.</p>
        ) : (
          <p className="row small">
            <span>
              Only {chosen.implementation}, {plural(chosen.params.instances, 'instance')},{' '}
              {plural(chosen.params.threads, 'thread')}
              {chosen.params.roundTripMs > 0 ? `, ${chosen.params.roundTripMs} ms round trip` : ''}
            </span>
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
          moments={moments}
          legend={<RateLegend trials={trials} />}
        />
        <TimePanel
          {...common}
          {...latencyPanel}
          marks={marks.latency}
          legend={<LatencyLegend trials={trials} />}
        />
        <TimePanel {...common} {...cpuPanel} marks={marks.cpu} legend={<CpuLegend trials={trials} />} />
        <TimePanel {...common} {...waitPanel} marks={marks.waits} legend={<WaitLegend />} />
      </div>
    </section>
  );
}
