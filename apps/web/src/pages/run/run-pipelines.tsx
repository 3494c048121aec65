import type { Point, ProgramInfo, Run } from '@shardlab/contract';
import { useMemo } from 'react';
import { roundTrips } from '../../model/round-trip.ts';
import { RunRates } from './run-rates.tsx';
import { RunRoundTrips } from './run-round-trips.tsx';

/** Rates of producers and consumers, for programs that count in time slices. */
export function RunPipelines(props: { run: Run; program: ProgramInfo; selected: Point | null }) {
  const { run, program, selected } = props;
  const points = useMemo(() => run.points.filter(({ rates }) => rates !== undefined), [run.points]);
  const groups = useMemo(() => roundTrips(run.points), [run.points]);
  if (points.length === 0) return null;
  return (
    <section className="section" aria-labelledby="pipelines">
      <h2 id="pipelines">Producers and consumers</h2>
      <div className="split split-even">
        <RunRates run={run} program={program} points={points} selected={selected} />
        {groups.length === 0 ? null : <RunRoundTrips run={run} groups={groups} />}
      </div>
    </section>
  );
}
