import type { ProgramInfo, Run } from '@shardlab/contract';
import { environmentFacts } from '../../model/environment-facts.ts';

/** The hardware and software on which a run was measured, and the settings of its workload. */
export function EnvironmentList({ run, program }: { run: Run; program: ProgramInfo }) {
  const facts = environmentFacts(run, program);
  if (facts === null) return <p className="empty">The environment is recorded when the run starts.</p>;
  return (
    <dl className="definitions details-panel">
      {facts.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
