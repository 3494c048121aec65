import type { ProgramInfo, Run } from '@shardlab/contract';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { recordedRunsQuery, runQuery, runsQuery } from '../../api/queries.ts';
import { lineColors } from '../../charts/visual-encoding.ts';
import { configDifferences, runLetter } from '../../model/compare-runs.ts';
import { formatAgo } from '../../model/format.ts';
import { Swatch } from '../../parts/legend-marks.tsx';
import { ErrorNotice, Loading } from '../../parts/query-states.tsx';
import { ReportScope, SaveReport } from '../../parts/report.tsx';
import { ScrollX } from '../../parts/scroll-x.tsx';
import { useProgram } from '../../parts/use-program.ts';
import { useTitle } from '../../parts/use-title.ts';
import { comparedMax } from './compare-search.ts';
import { ComparedFigures } from './compared-figures.tsx';
import { runLabel } from './run-label.ts';

/** Runs that may be chosen: the newest. */
const offeredMax = 100;

/** Two to six runs: how their configurations differ, then their figures. The address is a permanent link. */
export function ComparePage() {
  useTitle('Compare');
  const { runs: ids } = useSearch({ from: '/compare' });
  const navigate = useNavigate({ from: '/compare' });
  const onRuns = (runs: string[]) =>
    void navigate({ search: (before) => ({ ...before, runs }), replace: true, resetScroll: false });
  const answers = useQueries({ queries: ids.map((id) => runQuery(id)) });
  const runs = answers.flatMap(({ data }) => data ?? []);
  const failed = answers.flatMap(({ error }, index) => (error === null ? [] : [{ error, id: ids[index]! }]));
  const isLoading = answers.some(({ isPending }) => isPending);
  return (
    <>
      <header className="page-head">
        <h1>Compare</h1>
        <p className="lead">
          Two to six runs: first how they were configured, then what they measured. The address of this page
          is a link to the comparison.
        </p>
      </header>
      <section className="section" aria-labelledby="chosen">
        <h2 id="chosen">Runs</h2>
        <ChosenRuns runs={runs} onRuns={onRuns} />
        {failed.map(({ error, id }) => (
          <div key={id} className="row">
            <ErrorNotice error={error} />
            <button
              type="button"
              className="button"
              onClick={() => onRuns(ids.filter((each) => each !== id))}
            >
              Leave it out
            </button>
          </div>
        ))}
        {ids.length < comparedMax ? <AddRun chosen={ids} onAdd={(id) => onRuns([...ids, id])} /> : null}
      </section>
      {isLoading ? (
        <Loading name="the runs" />
      ) : runs.length < 2 ? (
        <p className="empty">Choose at least two runs.</p>
      ) : (
        <ReportScope>
          <Compared runs={runs} />
        </ReportScope>
      )}
    </>
  );
}

function ChosenRuns({ runs, onRuns }: { runs: readonly Run[]; onRuns(ids: string[]): void }) {
  const ids = runs.map(({ id }) => id);
  if (runs.length === 0) return null;
  return (
    <ul className="compare-runs" aria-label="Compared runs">
      {runs.map((run, index) => (
        <li key={run.id} className="panel compare-run">
          <span className="row">
            <Swatch color={lineColors[index]!} />
            <strong>{runLetter(index)}</strong>
            {index === 0 ? <span className="tag">baseline</span> : null}
          </span>
          <Link to="/runs/$runId" params={{ runId: run.id }}>
            {runLabel(run)}
          </Link>
          <span className="small muted">
            {run.scale}, {run.points.length} points,{' '}
            {formatAgo(run.startedAtMs ?? run.createdAtMs, Date.now())}
          </span>
          <span className="row">
            {index === 0 ? null : (
              <button
                type="button"
                className="button button-quiet"
                onClick={() => onRuns([run.id, ...ids.filter((id) => id !== run.id)])}
                aria-label={`Make ${runLetter(index)} the baseline`}
              >
                Make baseline
              </button>
            )}
            <button
              type="button"
              className="button button-quiet"
              onClick={() => onRuns(ids.filter((id) => id !== run.id))}
              aria-label={`Leave out ${runLetter(index)}`}
            >
              Leave out
            </button>
          </span>
        </li>
      ))}
    </ul>
  );
}

function AddRun({ chosen, onAdd }: { chosen: readonly string[]; onAdd(id: string): void }) {
  const { data } = useQuery(runsQuery(offeredMax));
  const recorded = useQuery(recordedRunsQuery);
  const offered = [...(data?.runs ?? []), ...(recorded.data?.runs ?? [])].filter(
    ({ id, status }) => !chosen.includes(id) && status !== 'queued',
  );
  return (
    <label className="field explain-against">
      <span>Add a run</span>
      <select className="input" value="" onChange={(event) => onAdd(event.target.value)}>
        <option value="">Choose a run…</option>
        {offered.map((run) => (
          <option key={run.id} value={run.id}>
            {run.labels?.name || run.scenarioTitle}
            {run.labels?.baseline ? ' (baseline)' : ''}
            {'recordedOn' in run ? ', recorded' : ''}, {run.scale},{' '}
            {formatAgo(run.startedAtMs ?? run.createdAtMs, Date.now())} ({run.id.slice(0, 8)})
          </option>
        ))}
      </select>
    </label>
  );
}

function Compared({ runs }: { runs: readonly Run[] }) {
  const [first] = runs;
  const program = useProgram(first!.scenario.program);
  const programs = new Set(runs.map(({ scenario }) => scenario.program));
  return (
    <>
      <Differences runs={runs} program={program} />
      {programs.size > 1 ? (
        <p className="notice">
          These runs are of different programs ({[...programs].join(', ')}), so their figures mean different
          things and are not compared.
        </p>
      ) : program === undefined ? (
        <Loading name="the program" />
      ) : (
        <ComparedFigures runs={runs} program={program} />
      )}
      <div className="row">
        <SaveReport
          title={`Comparison: ${runs.map(runLabel).join(' / ')}`}
          lead={configDifferences(runs, program)
            .map(
              ({ name, values }) =>
                `${name}: ${values.map((value, index) => `${runLetter(index)} ${value ?? 'none'}`).join(', ')}.`,
            )
            .join(' ')}
          provenance={runs.map((run, index) => `${runLetter(index)}: run ${run.id}`).join(', ')}
          fileName="comparison"
          texts={() => []}
        />
        <span className="small muted">One HTML file with all charts of this page and their data.</span>
      </div>
    </>
  );
}

function Differences({ runs, program }: { runs: readonly Run[]; program: ProgramInfo | undefined }) {
  const differences = configDifferences(runs, program);
  return (
    <section className="section" aria-labelledby="configuration">
      <h2 id="configuration">Difference of configuration</h2>
      {differences.length === 0 ? (
        <p className="small">None: the same scenario, scale and machine.</p>
      ) : (
        <ScrollX label="Settings that differ" framed>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Setting</th>
                {runs.map((run, index) => (
                  <th key={run.id} scope="col">
                    {runLetter(index)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {differences.map(({ name, values }) => (
                <tr key={name}>
                  <th scope="row" className="compare-name">
                    {name}
                  </th>
                  {values.map((value, index) => (
                    <td key={runs[index]!.id} className="compare-value">
                      {value ?? '–'}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
    </section>
  );
}
