import type { Run, Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import { formatClock, plural } from '../model/format.ts';
import { isFinished } from '../model/run-state.ts';
import { tickAt } from '../model/time-series.ts';
import { type TimeCursor, useCursorTime } from './time-cursor.ts';
import { TopologyView } from './topology-view.tsx';

/** The topology at the cursor of the time charts; without a cursor as it is now, or as it was when last measured. */
export function CursorTopology(props: {
  run: Run;
  ticks: readonly Tick[];
  shown: ((tick: Tick) => boolean) | undefined;
  cursor: TimeCursor;
}) {
  const { run, ticks, shown, cursor } = props;
  const inRange = useMemo(() => (shown === undefined ? ticks : ticks.filter(shown)), [ticks, shown]);
  const atMs = useCursorTime(cursor);
  const finished = isFinished(run.status);
  const resting = finished ? inRange.findLast((each) => each.phase === 'measure') : undefined;
  const tick = atMs === null ? (resting ?? inRange.at(-1)) : tickAt(inRange, atMs);
  if (tick === undefined || tick === null) return null;
  const { implementation, params, phase } = tick;
  return (
    <figure className="panel chart" aria-labelledby="topology">
      <figcaption>
        <h3 id="topology">Topology</h3>
        <p className="chart-readout">
          {formatClock(tick.atMs)} {implementation}, {plural(params.instances, 'instance')},{' '}
          {plural(params.threads, 'thread')}
          {params.roundTripMs > 0 ? `, ${params.roundTripMs} ms round trip` : ''}; phase {phase}
          {atMs === null && !finished ? ' (now)' : ''}
        </p>
      </figcaption>
      <TopologyView
        tick={tick}
        ticks={ticks}
        cores={run.environment?.cores ?? 1}
        backlogMax={run.scenario.workload.backlogMax}
      />
      <p className="small muted">
        {implementation === 'sharded'
          ? 'Each bar is a partition: pale what is consumed, full what waits, empty what is free. A drained partition is truncated and used again.'
          : 'All instances open one table with one global index; its fill is the backlog against the bound of the workload.'}
      </p>
    </figure>
  );
}
