import type { ProgramInfo, Run } from '@shardlab/contract';
import { formatMs, formatValue } from '../../model/format.ts';

/** The hardware and software on which a run was measured, and the settings of its workload. */
export function EnvironmentList({ run, program }: { run: Run; program: ProgramInfo }) {
  const { environment } = run;
  if (environment === null) return <p className="empty">The environment is recorded when the run starts.</p>;
  const entries: [string, string][] = [
    ['Processor', `${environment.cores} × ${environment.cpuModel}`],
    ['Memory', `${formatValue(environment.memoryGiB)} GiB`],
    ['Platform', environment.platform],
    ['File system', environment.fileSystem],
    ['Sync to disk', `p50 ${formatMs(environment.syncMs.p50)}, p99 ${formatMs(environment.syncMs.p99)}`],
    ['Node', environment.node],
    ['SQLite', environment.sqlite],
    ['Commit', environment.commit ?? 'unknown'],
    ['Load average before the run', `${formatValue(environment.loadAverage)} over one minute`],
    ['Dashboard open during measurement', run.watched ? 'yes' : 'no'],
    ['Seed', String(run.scenario.seed)],
    ...Object.entries(run.scenario.parameters).map(([name, value]): [string, string] => [
      program.parameters.find((each) => each.name === name)?.title ?? name,
      String(value),
    ]),
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
