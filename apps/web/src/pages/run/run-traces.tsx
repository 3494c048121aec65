import type { Point, ProgramInfo, Run } from '@shardlab/contract';
import { useMemo } from 'react';
import { combinationName } from '../../model/combination-rows.ts';
import { sessionWaitTables } from '../../model/session-wait-tables.ts';
import { PointLanes } from '../../parts/point-lanes.tsx';
import { SessionWaitTables } from '../../parts/session-waits.tsx';
import { useStudy } from '../../parts/use-study.ts';

/** Recordings of single sessions in a run without a time series: lanes that its hero does not show, and tables of waits. */
export function RunTraces(props: {
  run: Run;
  program: ProgramInfo;
  selected: Point | null;
  /** Whether the lanes of a point are shown above. */
  hasLanes: boolean;
}) {
  const { run, program, selected, hasLanes } = props;
  const study = useStudy(run.scenario.study);
  const laned = shownPoint(run.points, selected, ({ swimlanes = [] }) => swimlanes.length > 0);
  const waited = shownPoint(run.points, selected, ({ sessionWaits = [] }) => sessionWaits.length > 0);
  const tables = useMemo(() => {
    const table = (id: string) => study?.tables.find((each) => each.id === id);
    return waited && sessionWaitTables(waited, { runs: table('runs'), waits: table('waits') });
  }, [waited, study]);
  return (
    <>
      {laned === undefined || hasLanes ? null : (
        <section className="section" aria-labelledby="lanes">
          <h2 id="lanes">Sessions</h2>
          <PointLanes
            run={run}
            swimlanes={laned.swimlanes ?? []}
            place={combinationName(run, program, laned)}
          />
        </section>
      )}
      {tables === undefined ? null : (
        <SessionWaitTables tables={tables} place={combinationName(run, program, waited!)} />
      )}
    </>
  );
}

/** The chosen point if it has recordings, or else the last one that has. */
const shownPoint = (
  points: readonly Point[],
  selected: Point | null,
  has: (point: Point) => boolean,
): Point | undefined => (selected !== null && has(selected) ? selected : points.findLast(has));
