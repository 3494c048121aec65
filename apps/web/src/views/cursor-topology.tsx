import type { Run, Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import { formatClock, plural } from '../model/format.ts';
import { isFinished } from '../model/run-state.ts';
import { type TrialSamples, tickAt } from '../model/time-series.ts';
import { topologyTable } from '../model/topology-table.ts';
import { ChartFrame } from './chart-frame.tsx';
import { moveTimeCursor, type TimeCursor, useCursorTime } from './time-cursor.ts';
import { useTopology } from './topology-view.tsx';

export interface CursorTopologyProps {
  run: Run;
  ticks: readonly Tick[];
  shown: ((tick: Tick) => boolean) | undefined;
  trials: readonly TrialSamples[];
  cursor: TimeCursor;
}

/** The topology at the cursor of the time charts; without a cursor as it is now, or as it was when last measured. */
export function CursorTopology(props: CursorTopologyProps) {
  const { run, ticks, shown, cursor } = props;
  const inRange = useMemo(() => (shown === undefined ? ticks : ticks.filter(shown)), [ticks, shown]);
  const atMs = useCursorTime(cursor);
  const finished = isFinished(run.status);
  const resting = finished ? inRange.findLast((each) => each.phase === 'measure') : undefined;
  const tick = atMs === null ? (resting ?? inRange.at(-1)) : tickAt(inRange, atMs);
  if (tick === undefined || tick === null) return <NoTick isOver={finished} />;
  const isNow = atMs === null && !finished;
  return <Framed {...props} tick={tick} isNow={isNow} />;
}

function NoTick({ isOver }: { isOver: boolean }) {
  return (
    <section className="section" aria-labelledby="topology">
      <h2 id="topology">Where messages are</h2>
      <p className="empty">
        {isOver ? 'No figures over time were recorded.' : 'Instances appear with the first trial.'}
      </p>
    </section>
  );
}

function Framed({
  run,
  ticks,
  trials,
  cursor,
  tick,
  isNow,
}: CursorTopologyProps & { tick: Tick; isNow: boolean }) {
  const { implementation, params, phase, atMs } = tick;
  const { box, element, minHeight } = useTopology({
    tick,
    ticks,
    cores: run.environment?.cores ?? 1,
    backlogMax: run.scenario.workload.backlogMax,
  });
  const trip = params.roundTripMs > 0 ? `, ${params.roundTripMs} ms round trip` : '';
  const where = `${implementation}, ${plural(params.instances, 'instance')}, ${plural(params.threads, 'thread')}${trip}`;
  const lastMs = ticks.at(-1)?.atMs ?? atMs;
  return (
    <section className="section" aria-labelledby="topology">
      <h2 id="topology">Where messages are</h2>
      <ChartFrame
        title="Topology"
        unit="messages per second in and out; backlog in messages"
        fileName={`${run.scenario.id}-topology-${Math.round(atMs / 1000)}s`}
        table={() => topologyTable(tick)}
        svg={element}
        box={box}
        height={minHeight}
        readout={
          <>
            {formatClock(atMs)} <b>{where}</b>; {phaseWords[phase]}
            {isNow ? ', now' : ''}
          </>
        }
        spoken={`${formatClock(atMs)}, ${where}`}
        cursor={{
          now: Math.round(atMs / 1000),
          max: Math.max(1, Math.round(lastMs / 1000)),
          onKey: (key) => moveTimeCursor(cursor, key, trials),
        }}
        note={
          implementation === 'sharded'
            ? 'Each bar is a partition: pale what is consumed, full what waits, empty what is free. A drained partition is truncated and used again.'
            : 'All instances open one table with one global index; its fill is the backlog against the bound of the workload.'
        }
      />
    </section>
  );
}

const phaseWords: Readonly<Record<Tick['phase'], string>> = {
  warmup: 'warming up',
  measure: 'measuring',
  drain: 'draining',
};
