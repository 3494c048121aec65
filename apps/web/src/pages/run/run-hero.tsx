import type { HeroChart, Point, Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import { cpuLegend, rateLegend } from '../../charts/time-legends.ts';
import { eventColors } from '../../charts/waits-color.ts';
import { activityGroups, activityOrder } from '../../model/active-sessions.ts';
import { combinationName } from '../../model/combination-rows.ts';
import { runProvenance } from '../../model/provenance.ts';
import { runAnnotations } from '../../model/run-annotations.ts';
import { tracedIn } from '../../model/sequence.ts';
import { cpuMarks, rateMarks } from '../../model/time-chart-data.ts';
import { cpuPanel, ratePanel } from '../../model/time-panels.ts';
import { PointLanes } from '../../parts/point-lanes.tsx';
import type { TimeCursor } from '../../parts/time-cursor.ts';
import { Transaction } from '../../parts/transaction.tsx';
import { RunScaling, type RunScalingProps } from './run-scaling.tsx';
import { TimePanel } from './time-panel.tsx';
import type { TimeView } from './use-time-view.ts';

interface RunHeroProps extends RunScalingProps {
  hero: HeroChart;
  /** Whose trace is shown, see `tracedPoint`; null for none. */
  traced: Point | null;
  ticks: readonly Tick[];
  view: TimeView;
  cursor: TimeCursor;
}

/** The chart that a run is about; until it has what that shows, the figure over its sweep. */
export function RunHero({ hero, traced, ticks, view, cursor, ...scaling }: RunHeroProps) {
  if (traced !== null) return <PointTrace {...scaling} point={traced} />;
  const isOverTime = hero === 'rate over time' || hero === 'cpu over time';
  if (!isOverTime || view.trials.length === 0) return <RunScaling {...scaling} />;
  return <OverTime hero={hero} run={scaling.run} ticks={ticks} view={view} cursor={cursor} />;
}

/** Lanes or a transaction. */
function PointTrace({ run, program, point }: RunScalingProps & { point: Point }) {
  const place = combinationName(run, program, point);
  const lanes = useMemo(() => tracedIn(point), [point]);
  const colors = useMemo(
    () => eventColors(activityOrder(activityGroups(run.points, { sweep: run.scenario.sweep, program }))),
    [run.points, run.scenario, program],
  );
  if (lanes.length > 0) return <Transaction {...{ run, lanes, colors, place }} />;
  return <PointLanes run={run} swimlanes={point.swimlanes ?? []} place={place} />;
}

function OverTime({
  hero,
  run,
  ticks,
  view,
  cursor,
}: Omit<RunHeroProps, keyof RunScalingProps | 'traced'> & Pick<RunScalingProps, 'run'>) {
  const { range, trials } = view;
  const annotations = useMemo(() => runAnnotations(ticks, range), [ticks, range]);
  const isCpu = hero === 'cpu over time';
  const marks = useMemo(() => (isCpu ? cpuMarks(trials) : rateMarks(trials)), [isCpu, trials]);
  const common = {
    range,
    trials,
    marks,
    annotations,
    cursor,
    scenarioId: run.scenario.id,
    cores: run.environment?.cores ?? null,
    provenance: runProvenance(run),
  };
  if (isCpu) return <TimePanel {...common} {...cpuPanel} legend={cpuLegend(trials)} />;
  return <TimePanel {...common} {...ratePanel} legend={rateLegend(trials)} />;
}
