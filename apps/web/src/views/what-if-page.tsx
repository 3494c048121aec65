import type { Hardware, Run } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { hardwareQuery, runQuery, runsQuery } from '../api/queries.ts';
import { metricIds, metrics } from '../model/metrics.ts';
import { isMeasuredSo, ownSettings, settingsOf, simulationRequest, whatIfThreads } from '../model/what-if.ts';
import { modelErrors } from '../model/what-if-series.ts';
import { Choice } from './choice.tsx';
import { Answered } from './page-states.tsx';
import { useSimulation } from './use-simulation.ts';
import { useTitle } from './use-title.ts';
import { WhatIfAgreement } from './what-if-agreement.tsx';
import { WhatIfChart } from './what-if-chart.tsx';
import { WhatIfControls } from './what-if-controls.tsx';
import { settingsIn, type WhatIfSearch } from './what-if-search.ts';

/** What a calibration writes: the machine that measures. */
const calibratedId = 'this-machine';
/** The server's own bound of one answer. */
const runsLookedAt = 200;

/** The model with sliders, measured points on top. */
export function WhatIfPage() {
  useTitle('What if');
  const hardware = useQuery(hardwareQuery);
  return (
    <>
      <header className="page-head">
        <h1>What if</h1>
        <p className="lead">
          The model of a cluster, simulated in this page while a slider moves: more instances, a slower disk,
          a distant client. Its costs were measured on this machine by a calibration, or fitted to what the
          paper says of another. Points of a run lie on top, so that the model can be seen to miss.
        </p>
      </header>
      <Answered query={hardware} what="machines">
        {(data) => <WhatIfView machines={data.hardware} />}
      </Answered>
    </>
  );
}

function WhatIfView({ machines }: { machines: readonly Hardware[] }) {
  const search = useSearch({ from: '/what-if' });
  const navigate = useNavigate({ from: '/what-if' });
  const set = (change: Partial<Record<keyof WhatIfSearch, unknown>>) =>
    void navigate({
      search: (before) => ({ ...before, ...change }) as WhatIfSearch,
      replace: true,
      resetScroll: false,
    });
  const runs = useQuery(runsQuery(runsLookedAt));
  const chosen = useQuery({ ...runQuery(search.run ?? ''), enabled: search.run !== undefined });
  const run = search.run === undefined ? undefined : chosen.data;
  const machine =
    machines.find(({ id }) => id === search.hardware) ??
    machines.find(({ id }) => id === calibratedId) ??
    machines[0];
  const settings = useMemo(() => settingsIn(search), [search]);
  const measured = useMemo(() => {
    if (run === undefined || machine === undefined) return [];
    const own = ownSettings(machine);
    return run.points.filter(({ params }) => isMeasuredSo(params, settings, own));
  }, [run, machine, settings]);
  const threads = useMemo(
    () =>
      [...new Set([...whatIfThreads, ...measured.map(({ params }) => params.threads)])].sort((a, b) => a - b),
    [measured],
  );
  const request = useMemo(
    () => (machine === undefined ? null : simulationRequest(machine, settings, threads)),
    [machine, settings, threads],
  );
  const { points, isRunning } = useSimulation(request);
  const errors = useMemo(() => modelErrors(points, measured), [points, measured]);
  if (machine === undefined) return <p className="empty">There is no hardware file in scenarios/hardware.</p>;
  const metric = metrics[search.metric ?? 'dequeue'];
  const chooseRun = (id: string | undefined) => set({ run: id });
  return (
    <div className="split split-main what-if">
      <section className="section" aria-labelledby="simulated">
        <h2 id="simulated">{machine.title}</h2>
        <WhatIfChart
          metric={metric}
          instances={settings.instances}
          threads={threads}
          simulated={points}
          measured={measured}
          note={noteOf(machine, run, measured.length, settings.subscribers)}
          controls={
            <div className="row">
              <Choice
                label="Show"
                value={metric.id}
                options={metricIds.map((id) => ({ value: id, label: metrics[id].label }))}
                onChange={(id) => set({ metric: id })}
              />
              <span className="small muted" role="status">
                {isRunning ? 'simulating…' : 'simulated'}
              </span>
            </div>
          }
        />
        {run !== undefined && measured.length === 0 ? <RunElsewhere run={run} onTake={set} /> : null}
        {errors.length > 0 ? <WhatIfAgreement errors={errors} /> : null}
      </section>
      <section className="section" aria-labelledby="settings">
        <h2 id="settings">Settings</h2>
        <WhatIfControls
          machines={machines}
          machine={machine}
          settings={settings}
          runs={(runs.data?.runs ?? []).filter(({ status }) => status === 'done')}
          run={search.run}
          onMachine={(id) =>
            set({ hardware: id, cores: undefined, syncUs: undefined, roundTripMs: undefined })
          }
          onRun={chooseRun}
          onSettings={set}
        />
        <p className="small muted">{machine.about}</p>
      </section>
    </div>
  );
}

/** The run was measured with another workload than the sliders say. */
function RunElsewhere({ run, onTake }: { run: Run; onTake(settings: Partial<WhatIfSearch>): void }) {
  const first = run.points[0];
  if (first === undefined) return <p className="empty">This run has no points.</p>;
  const { cores: _cores, syncUs: _sync, ...settings } = settingsOf(first.params);
  return (
    <div className="notice">
      <p>No point of this run was measured with these settings.</p>
      <button type="button" className="button" onClick={() => onTake(settings)}>
        Set the sliders as it was measured
      </button>
    </div>
  );
}

function noteOf(
  machine: Hardware,
  run: Run | undefined,
  measured: number,
  subscribers: number,
): string | null {
  if (run === undefined || measured === 0) return null;
  const notes = [
    ...(machine.id === calibratedId
      ? []
      : ['The points were measured on this machine, the lines are of another one.']),
    ...(subscribers > 0
      ? [
          'Unsharded, the points are of a queue for each subscriber, which stands in for a topic; the line is of a topic.',
        ]
      : []),
  ];
  return notes.length === 0 ? null : notes.join(' ');
}
