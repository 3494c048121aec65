import type { RunSort, RunSummary } from '@shardlab/contract';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatAgo, formatDuration } from '../model/format.ts';
import { countVerdicts, describeVerdictCount } from '../model/verdicts.ts';
import { StatusBadge } from './badges.tsx';
import { ScrollX } from './scroll-x.tsx';
import { SortHead } from './sort-head.tsx';

/** The order of the runs, if it is not the order in which they were added, and how to change it. */
interface RunOrder {
  sort: { by: RunSort; order: 'asc' | 'desc' } | undefined;
  onSort(by: RunSort): void;
}

/**
 * Runs in the given order. With `order`, columns can change it. `chosen`: with a check box for each, such as for a comparison.
 * `tools`: what can be done with a run.
 */
export function RunTable({
  runs,
  order,
  chosen,
  tools,
}: {
  runs: readonly RunSummary[];
  order?: RunOrder;
  chosen?: { ids: readonly string[]; onChoose(id: string): void };
  tools?(run: RunSummary): ReactNode;
}) {
  if (runs.length === 0) return <p className="empty">No runs yet.</p>;
  return (
    <ScrollX label="Runs" framed>
      <table className="table">
        <thead>
          <tr>
            {chosen === undefined ? null : (
              <th scope="col">
                <span className="visually-hidden">Compare</span>
              </th>
            )}
            <Head label="Scenario" by="title" order={order} />
            <Head label="Scale" by="scale" order={order} />
            <Head label="Status" by="status" order={order} />
            <th scope="col">Claims</th>
            <Head label="Started" by="started" order={order} />
            <Head label="Duration" by="duration" order={order} isNumber />
            {tools === undefined ? null : (
              <th scope="col">
                <span className="visually-hidden">Tools</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id} data-selected={chosen?.ids.includes(run.id) ? '' : undefined}>
              {chosen === undefined ? null : (
                <td>
                  <label className="choose-run">
                    <input
                      type="checkbox"
                      checked={chosen.ids.includes(run.id)}
                      onChange={() => chosen.onChoose(run.id)}
                    />
                    <span className="visually-hidden">
                      Compare {titleOf(run)}, run {run.id.slice(0, 8)}
                    </span>
                  </label>
                </td>
              )}
              <th scope="row" className="wrap">
                <Link to="/runs/$runId" params={{ runId: run.id }}>
                  {titleOf(run)}
                </Link>{' '}
                {run.labels?.baseline ? <span className="tag">baseline</span> : null}{' '}
                {run.imported ? <span className="tag">imported</span> : null}
                {run.labels === undefined || run.labels.name === '' ? null : (
                  <div className="small muted">{run.scenarioTitle}</div>
                )}
                {run.labels === undefined || run.labels.note === '' ? null : (
                  <div className="small run-note">{run.labels.note}</div>
                )}
              </th>
              <td>{run.scale}</td>
              <td>
                <span className="row">
                  <StatusBadge status={run.status} errorCode={run.errorCode} />
                  {run.status === 'running' ? (
                    <span className="small muted">
                      {run.progress.done} of {run.progress.total}
                    </span>
                  ) : null}
                </span>
              </td>
              <td className="small">{verdictsOf(run)}</td>
              <td>{formatAgo(run.startedAtMs ?? run.createdAtMs, Date.now())}</td>
              <td className="number">{durationOf(run)}</td>
              {tools === undefined ? null : <td>{tools(run)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function Head(props: { label: string; by: RunSort; order: RunOrder | undefined; isNumber?: boolean }) {
  const { label, by, order, isNumber = false } = props;
  if (order === undefined) {
    return (
      <th scope="col" className={isNumber ? 'number' : undefined}>
        {label}
      </th>
    );
  }
  const sorted = order.sort?.by === by ? order.sort.order : false;
  return <SortHead label={label} isNumber={isNumber} sorted={sorted} onSort={() => order.onSort(by)} />;
}

const titleOf = ({ labels, scenarioTitle }: RunSummary): string => labels?.name || scenarioTitle;

function verdictsOf({ verdicts }: RunSummary): string {
  const counts = countVerdicts(verdicts);
  if (counts.length === 0) return '–';
  return counts.map(describeVerdictCount).join(', ');
}

function durationOf({ startedAtMs, endedAtMs }: RunSummary): string {
  return startedAtMs === null || endedAtMs === null ? '–' : formatDuration(endedAtMs - startedAtMs);
}
