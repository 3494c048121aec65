import { type Hardware, numberParam, type ProgramInfo, type Run } from '@shardlab/contract';
import { sourcesInWords } from '@shardlab/model';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { hardwareQuery, runQuery, runsQuery } from '../../api/queries.ts';
import { chosenMetric, metricsOf } from '../../model/point-metrics.ts';
import { runProvenance, simulatedProvenance } from '../../model/provenance.ts';
import { settingsInWords } from '../../model/slider-words.ts';
import {
  machineSettings,
  matchesSettings,
  settingsOfPoint,
  simulationRequest,
  type WhatIfSettings,
  whatIfThreads,
} from '../../model/what-if.ts';
import { answersOf, differenceInWords } from '../../model/what-if-answer.ts';
import type { Limit } from '../../model/what-if-limits.ts';
import { modelErrors, simulatedFigures } from '../../model/what-if-series.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { SelectChoice } from '../../parts/select-choice.tsx';
import { useProgram } from '../../parts/use-program.ts';
import { useTitle } from '../../parts/use-title.ts';
import { CalibrateHere } from './calibrate-here.tsx';
import { MachineOfCosts } from './machine-of-costs.tsx';
import { ModelAgreement } from './model-agreement.tsx';
import { PredictionScore } from './prediction-score.tsx';
import { useSimulation } from './use-simulation.ts';
import { useWhatIfSearch } from './use-what-if-search.ts';
import { WhatIfAnswer } from './what-if-answer.tsx';
import { WhatIfChart } from './what-if-chart.tsx';
import { WhatIfControls } from './what-if-controls.tsx';
import { settingsFromSearch } from './what-if-search.ts';

/** The id of the hardware description that a calibration of this machine writes. */
const calibratedId = 'this-machine';
/** The limit of the server on one answer. */
const runsMax = 200;

/** The simulation model with sliders, and measured points for comparison. */
export function WhatIfPage() {
  useTitle('What if');
  const hardware = useQuery(hardwareQuery);
  const program = useProgram('queue');
  return (
    <>
      <header className="page-head">
        <h1>What if</h1>
        <p className="lead">
          A model of a cluster, simulated in this page while a slider moves: more instances, a slower disk, a
          distant client. Its costs were measured on the machine that is chosen below, or fitted to the
          numbers that the white paper gives. <i>Calibrate here</i> measures those of this machine. The score
          below says how far the model was off where this machine has measured since.
        </p>
      </header>
      <QueryResult query={hardware} name="machines">
        {(data) => (program === undefined ? null : <WhatIfView machines={data.hardware} program={program} />)}
      </QueryResult>
    </>
  );
}

function WhatIfView({ machines, program }: { machines: readonly Hardware[]; program: ProgramInfo }) {
  const { search, set } = useWhatIfSearch();
  const runs = useQuery(runsQuery(runsMax));
  const chosen = useQuery({ ...runQuery(search.run ?? ''), enabled: search.run !== undefined });
  const run = search.run === undefined ? undefined : chosen.data;
  const machine =
    machines.find(({ id }) => id === search.hardware) ??
    machines.find(({ id }) => id === calibratedId) ??
    machines[0];
  const settings = useMemo(() => settingsFromSearch(search), [search]);
  const without = useMemo(() => search.without ?? [], [search]);
  const measured = useMemo(() => {
    if (run === undefined || machine === undefined) return [];
    const defaults = machineSettings(machine);
    return run.points.filter(({ params }) => matchesSettings(params, settings, defaults));
  }, [run, machine, settings]);
  const threads = useMemo(
    () =>
      [
        ...new Set([
          ...whatIfThreads,
          ...(search.threads === undefined ? [] : [search.threads]),
          ...measured.map(({ params }) => numberParam(params, 'threads')),
        ]),
      ].sort((a, b) => a - b),
    [measured, search.threads],
  );
  const request = useMemo(
    () => (machine === undefined ? null : simulationRequest(machine, settings, threads, without)),
    [machine, settings, threads, without],
  );
  const { points, before, request: answered, stage } = useSimulation(request);
  const errors = useMemo(() => modelErrors(points, measured), [points, measured]);
  const [cursor, setCursor] = useState<string | null>(null);
  if (machine === undefined)
    return <p className="empty">There is no hardware description in scenarios/hardware.</p>;
  const metrics = metricsOf(program).filter(({ id }) => simulatedFigures.includes(id));
  const metric = chosenMetric(metrics, search.metric);
  const remove = (limit: Limit, isRemoved: boolean) =>
    set({ without: isRemoved ? [...without, limit] : without.filter((each) => each !== limit) });
  const isHere = machine.id === calibratedId;
  const chooseMachine = (id: string) =>
    set({ hardware: id, cores: undefined, syncUs: undefined, roundTripMs: undefined });
  const atCursor = points.find(({ job }) => cursor === `simulated/${job.key}`)?.job.threads;
  return (
    <>
      <div className="what-if-view">
        <WhatIfAnswer
          answers={answersOf(points, before?.points ?? [], {
            metric,
            threads: atCursor ?? search.threads ?? null,
          })}
          metric={metric}
          stage={stage}
          since={
            before === null || answered === null
              ? ''
              : differenceInWords(before.request.position, answered.position)
          }
          threads={search.threads ?? null}
          onBestThreads={() => set({ threads: undefined })}
          without={without}
          onRemove={remove}
          machine={<MachineOfCosts machine={machine} isHere={isHere} />}
        />
        <div className="split split-main what-if">
          <section className="section" aria-labelledby="simulated">
            <h2 id="simulated">{machine.title}</h2>
            <WhatIfChart
              metric={metric}
              instances={settings.instances}
              threads={threads}
              simulated={points}
              before={before?.points ?? []}
              cursor={cursor}
              onCursor={setCursor}
              measured={measured}
              provenance={simulatedProvenance(machine, {
                settings: settingsInWords(settings, without),
                measured: run === undefined || measured.length === 0 ? null : runProvenance(run),
                nowMs: Date.now(),
              })}
              note={noteOf(machine, run, measured.length, settings.subscribers)}
              controls={
                <SelectChoice
                  label="Show"
                  value={metric.id}
                  options={metrics.map(({ id, label }) => ({ value: id, label }))}
                  onChange={(id) => set({ metric: id })}
                />
              }
            />
            {run !== undefined && measured.length === 0 ? <SettingsMismatch run={run} onApply={set} /> : null}
            {errors.length > 0 ? <ModelAgreement errors={errors} isOfThisMachine={isHere} /> : null}
          </section>
          <section className="section" aria-labelledby="settings">
            <h2 id="settings">Settings</h2>
            <CalibrateHere
              isCalibrated={machines.some(({ id }) => id === calibratedId)}
              onDone={() => chooseMachine(calibratedId)}
            />
            <WhatIfControls
              machines={machines}
              machine={machine}
              settings={settings}
              runs={(runs.data?.runs ?? []).filter(({ status }) => status === 'done')}
              run={search.run}
              without={without}
              onRemove={remove}
              onMachine={chooseMachine}
              onRun={(id) => set({ run: id })}
              onSettings={set}
            />
            <p className="small muted">{machine.about}</p>
            <p className="small muted">{sourcesInWords(machine)}</p>
          </section>
        </div>
      </div>
      <PredictionScore machine={machine} isHere={isHere} />
    </>
  );
}

/** Shown if no point of the run was measured with the workload that the sliders describe. */
function SettingsMismatch({ run, onApply }: { run: Run; onApply(settings: Partial<WhatIfSettings>): void }) {
  const first = run.points[0];
  if (first === undefined) return <p className="empty">This run has no points.</p>;
  const { cores: _cores, syncUs: _sync, ...settings } = settingsOfPoint(first.params);
  return (
    <div className="notice">
      <p>No point of this run was measured with these settings.</p>
      <div className="row">
        <button type="button" className="button" onClick={() => onApply(settings)}>
          Use the settings of this run
        </button>
      </div>
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
      : ['The points were measured on this machine; the lines are simulated for another one.']),
    ...(subscribers > 0
      ? [
          'The unsharded points come from one queue per subscriber in place of a topic; the unsharded line simulates a topic.',
        ]
      : []),
  ];
  return notes.length === 0 ? null : notes.join(' ');
}
