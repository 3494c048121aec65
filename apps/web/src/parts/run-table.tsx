import type { RunSummary } from '@shardlab/contract';
import { Link } from '@tanstack/react-router';
import { formatAgo, formatDuration } from '../model/format.ts';
import { countVerdicts, describeVerdictCount } from '../model/verdicts.ts';
import { StatusBadge } from './badges.tsx';
import { ScrollX } from './scroll-x.tsx';

/** Runs, newest first. */
export function RunTable({ runs }: { runs: readonly RunSummary[] }) {
  if (runs.length === 0) return <p className="empty">No runs yet.</p>;
  return (
    <ScrollX label="Runs" framed>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Scenario</th>
            <th scope="col">Scale</th>
            <th scope="col">Status</th>
            <th scope="col">Claims</th>
            <th scope="col">Started</th>
            <th scope="col" className="number">
              Duration
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id}>
              <th scope="row" className="wrap">
                <Link to="/runs/$runId" params={{ runId: run.id }}>
                  {run.scenarioTitle}
                </Link>
              </th>
              <td>{run.scale}</td>
              <td>
                <span className="row">
                  <StatusBadge status={run.status} />
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
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function verdictsOf({ verdicts }: RunSummary): string {
  const counts = countVerdicts(verdicts);
  if (counts.length === 0) return '–';
  return counts.map(describeVerdictCount).join(', ');
}

function durationOf({ startedAtMs, endedAtMs }: RunSummary): string {
  return startedAtMs === null || endedAtMs === null ? '–' : formatDuration(endedAtMs - startedAtMs);
}
