/** The hardware and software on which a run was measured, and the settings of its workload. */
import type { ProgramInfo, Run } from '@shardlab/contract';
import { formatMs, formatValue } from './format.ts';

/** Null while nothing is recorded: before the run starts. */
export function environmentFacts(
  { environment, watched, scenario }: Pick<Run, 'environment' | 'watched' | 'scenario'>,
  program: ProgramInfo,
): { name: string; value: string }[] | null {
  if (environment === null) return null;
  return [
    ...machineFacts(environment),
    { name: 'Dashboard open during measurement', value: watched ? 'yes' : 'no' },
    { name: 'Seed', value: String(scenario.seed) },
    ...Object.entries(scenario.parameters).map(([id, value]) => ({
      name: program.parameters.find((each) => each.name === id)?.title ?? id,
      value: String(value),
    })),
  ];
}

/** The machine of a run, and how busy it was. */
export function machineFacts(
  environment: NonNullable<Run['environment']>,
): { name: string; value: string }[] {
  const { syncMs } = environment;
  return [
    { name: 'Processor', value: `${environment.cores} × ${environment.cpuModel}` },
    { name: 'Memory', value: `${formatValue(environment.memoryGiB)} GiB` },
    { name: 'Platform', value: environment.platform },
    { name: 'File system', value: environment.fileSystem },
    { name: 'Sync to disk', value: `p50 ${formatMs(syncMs.p50)}, p99 ${formatMs(syncMs.p99)}` },
    { name: 'Node', value: environment.node },
    { name: 'SQLite', value: environment.sqlite },
    { name: 'Commit', value: environment.commit ?? 'unknown' },
    {
      name: 'Load average before the run',
      value: `${formatValue(environment.loadAverage)} over one minute`,
    },
  ];
}
