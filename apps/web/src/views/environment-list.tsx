import type { Run } from '@shardlab/contract';
import { formatMs, formatValue } from '../model/format.ts';

/** The machine and the software that a run was measured on. */
export function EnvironmentList({ run }: { run: Run }) {
  const { environment } = run;
  if (environment === null) return <p className="empty">The environment is captured when the run starts.</p>;
  const entries: [string, string][] = [
    ['Processor', `${environment.cores} × ${environment.cpuModel}`],
    ['Memory', `${formatValue(environment.memoryGiB)} GiB`],
    ['Platform', environment.platform],
    ['File system', environment.fileSystem],
    ['Sync to disk', `p50 ${formatMs(environment.syncMs.p50)}, p99 ${formatMs(environment.syncMs.p99)}`],
    ['Node', environment.node],
    ['SQLite', environment.sqlite],
    ['Commit', environment.commit ?? 'not known'],
    ['Load before the run', `${formatValue(environment.loadAverage)} over one minute`],
    ['Watched by a dashboard', run.watched ? 'yes, while it was measured' : 'no'],
    ['Seed', String(run.scenario.seed)],
    ['Payload', `${run.scenario.workload.payloadBytes} bytes`],
    ['Operations a transaction', String(run.scenario.workload.operationsPerTransaction)],
    ['Durability', run.scenario.queue.durability],
  ];
  return (
    <dl className="definitions details-panel">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
