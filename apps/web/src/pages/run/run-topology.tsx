import { numberParam, type Run, type Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import { topologyLegend } from '../../charts/topology-chart.ts';
import { describeCombination } from '../../model/combination-words.ts';
import { clockPrecision, formatClock } from '../../model/format.ts';
import { runProvenance } from '../../model/provenance.ts';
import { isFinished } from '../../model/run-state.ts';
import { type TrialSamples, tickAt } from '../../model/time-series.ts';
import { topologyTable } from '../../model/topology-table.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { moveTimeCursor, type TimeCursor, useCursorTime } from '../../parts/time-cursor.ts';
import { useTopology } from '../../parts/topology-view.tsx';

export interface RunTopologyProps {
  run: Run;
  ticks: readonly Tick[];
  isShown: ((tick: Tick) => boolean) | undefined;
  trials: readonly TrialSamples[];
  cursor: TimeCursor;
}

/**
 * The topology at the cursor of the time charts. Without a cursor: the current one, or for a finished run the last one
 * measured.
 */
export function RunTopology(props: RunTopologyProps) {
  const { run, ticks, isShown, cursor } = props;
  const inRange = useMemo(() => (isShown === undefined ? ticks : ticks.filter(isShown)), [ticks, isShown]);
  const atMs = useCursorTime(cursor);
  const finished = isFinished(run.status);
  const lastMeasured = finished ? inRange.findLast((candidate) => candidate.phase === 'measure') : undefined;
  const tick = atMs === null ? (lastMeasured ?? inRange.at(-1)) : tickAt(inRange, atMs);
  if (tick === undefined || tick === null) return <NoTopology isFinished={finished} />;
  const isNow = atMs === null && !finished;
  return <TopologyFrame {...props} tick={tick} isNow={isNow} />;
}

function NoTopology({ isFinished }: { isFinished: boolean }) {
  return (
    <section className="section" aria-labelledby="topology">
      <h2 id="topology">Topology</h2>
      <p className="empty">
        {isFinished ? 'No time series was recorded.' : 'Instances appear when the first trial starts.'}
      </p>
    </section>
  );
}

function TopologyFrame({
  run,
  ticks,
  trials,
  cursor,
  tick,
  isNow,
}: RunTopologyProps & { tick: Tick; isNow: boolean }) {
  const { system, phase, atMs } = tick;
  const { box, element, minHeight } = useTopology({
    tick,
    ticks,
    cores: run.environment?.cores ?? 1,
    backlogMax: numberParam(tick.params, 'backlogMax'),
  });
  const configuration = describeCombination(tick);
  const lastMs = ticks.at(-1)?.atMs ?? atMs;
  const clock = formatClock(atMs, clockPrecision(lastMs));
  return (
    <section className="section" aria-labelledby="topology">
      <h2 id="topology">Topology</h2>
      <ChartFrame
        title="Instances, shards and partitions"
        unit="messages per second in and out, backlog in messages"
        fileName={`${run.scenario.id}-topology-${Math.round(atMs / 1000)}s`}
        table={() => topologyTable(tick)}
        svg={element}
        box={box}
        height={minHeight}
        saved={{
          legend: topologyLegend(system),
          provenance: `${configuration}, ${phaseLabels[phase]}, ${clock} after the start. ${runProvenance(run)}`,
        }}
        readout={
          <>
            {clock} <b>{configuration}</b>; {phaseLabels[phase]}
            {isNow ? ', now' : ''}
          </>
        }
        spoken={`${clock}, ${configuration}`}
        cursor={{
          now: Math.round(atMs / 1000),
          max: Math.max(1, Math.round(lastMs / 1000)),
          onKey: (key) => moveTimeCursor(cursor, key, trials),
        }}
        note={
          system === 'sharded'
            ? 'Each bar is a partition: pale for consumed messages, solid for waiting ones, empty for free space. A drained partition is truncated and reused.'
            : 'All instances share one table with one global index. Its fill shows the backlog relative to the limit of the workload.'
        }
      />
    </section>
  );
}

const phaseLabels: Readonly<Record<Tick['phase'], string>> = {
  warmup: 'warming up',
  measure: 'measuring',
  drain: 'draining',
};
