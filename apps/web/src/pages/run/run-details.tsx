import type { ProgramInfo, Run } from '@shardlab/contract';
import { Tabs } from '../../parts/tabs.tsx';
import { EnvironmentList } from './environment-list.tsx';
import { IntegrityTable, PointsTable, WaitsTable } from './point-tables.tsx';
import type { DetailTab, RunSearch } from './run-search.ts';

/** The results of a run as tables, and its environment. */
export function RunDetails(props: {
  run: Run;
  program: ProgramInfo;
  search: RunSearch;
  onSearch(change: { tab?: DetailTab; point?: string | undefined }): void;
}) {
  const { run, program, search, onSearch } = props;
  const { points } = run;
  return (
    <section className="section" aria-labelledby="details">
      <h2 id="details">Details</h2>
      <Tabs<DetailTab>
        label="Details"
        selected={search.tab ?? 'points'}
        onSelect={(tab) => onSearch({ tab })}
        tabs={[
          {
            id: 'points',
            label: 'Points',
            content: () => <PointsTable points={points} program={program} selected={search.point ?? null} />,
          },
          { id: 'waits', label: 'Top waits', content: () => <WaitsTable points={points} runId={run.id} /> },
          {
            id: 'integrity',
            label: 'Integrity',
            content: () => <IntegrityTable points={points} program={program} />,
          },
          {
            id: 'environment',
            label: 'Environment',
            content: () => <EnvironmentList run={run} program={program} />,
          },
        ]}
      />
    </section>
  );
}
