import type { Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import { heroOf } from '../../model/hero.ts';
import { runAnnotations } from '../../model/run-annotations.ts';
import { cpuMarks, rateMarks } from '../../model/time-chart-data.ts';
import { cpuPanel, ratePanel } from '../../model/time-panels.ts';
import type { TimeCursor } from '../../parts/time-cursor.ts';
import { RunScaling, type RunScalingProps } from './run-scaling.tsx';
import { CpuLegend, RateLegend } from './time-legends.tsx';
import { TimePanel } from './time-panel.tsx';
import type { TimeView } from './use-time-view.ts';

/** The chart that a run is about: its figure over the sweep, the rate over time with kills, or the CPU of each instance. */
export function RunHero(
  props: RunScalingProps & { ticks: readonly Tick[]; view: TimeView; cursor: TimeCursor },
) {
  const { run, ticks, view, cursor, ...scaling } = props;
  const hero = heroOf(run.scenario);
  const { range, trials } = view;
  const annotations = useMemo(() => runAnnotations(ticks, range), [ticks, range]);
  const marks = useMemo(() => (hero === 'cpu' ? cpuMarks(trials) : rateMarks(trials)), [hero, trials]);
  if (hero === 'scaling' || trials.length === 0) return <RunScaling run={run} {...scaling} />;
  const common = {
    range,
    trials,
    marks,
    annotations,
    cursor,
    scenarioId: run.scenario.id,
    cores: run.environment?.cores ?? null,
  };
  if (hero === 'cpu') return <TimePanel {...common} {...cpuPanel} legend={<CpuLegend trials={trials} />} />;
  return <TimePanel {...common} {...ratePanel} legend={<RateLegend trials={trials} />} />;
}
