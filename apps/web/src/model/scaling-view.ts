/** What the scaling chart shows of a run: axes from the plan, a panel for each round trip, the document's lines. */
import { numberParam, type ParamValue, type ProgramInfo, type Run, type Tick } from '@shardlab/contract';
import type { Metric } from './point-metrics.ts';
import { decadeDomain } from './scaling-geometry.ts';
import { type RunPoint, type ScalingSeries, scalingSeries } from './scaling-series.ts';
import { type SweepAxis, sweepAxis } from './sweep-axis.ts';

export interface RunScalingView {
  axis: SweepAxis;
  /** The planned values of the horizontal axis. */
  xs: readonly number[];
  domain: [low: number, high: number];
  panels: ScalingViewPanel[];
  references: { label: string; shortLabel: string; value: number; system: string }[];
  hasLinearGuide: boolean;
}

export interface ScalingViewPanel {
  id: string;
  title: string;
  series: ScalingSeries<RunPoint>[];
  live: { x: number; value: number; system: string } | null;
}

/** Rates from 100 to 100,000 a second are expected on any machine, so that the first points do not move the axis. */
const usualRates = [100, 100_000] as const;
const liveMetric = 'dequeuePerSec';

/** `live`: the newest tick of a run under way; null for none. */
export function scalingView(
  run: Pick<Run, 'scenario' | 'scale' | 'points'>,
  options: { program: ProgramInfo; metric: Metric; live: Tick | null },
): RunScalingView {
  const { program, metric, live } = options;
  const { scenario, points } = run;
  const axis = sweepAxis(scenario.sweep, program);
  const trips = plannedNumbers(run, 'roundTripMs');
  const panels = (trips.length > 1 ? trips : [null]).map(
    (trip): ScalingViewPanel => ({
      id: trip === null ? 'all' : `trip-${trip}`,
      title: trip === null ? '' : tripTitle(trip),
      series: scalingSeries(points, { metric, roundTrip: trip ?? 'all', sweep: scenario.sweep, program }),
      live: live !== null && metric.id === liveMetric && isIn(live, trip) ? liveMark(live, axis.id) : null,
    }),
  );
  const references = (scenario.references ?? [])
    .filter((reference) => reference.figure === metric.id)
    .map(({ label, value, system }) => ({
      label,
      value,
      system,
      shortLabel: `${metric.format(value)} in the document`,
    }));
  const values = [
    ...panels.flatMap(({ series }) => series.flatMap((entry) => entry.points.map(({ value }) => value))),
    ...references.map(({ value }) => value),
  ];
  return {
    axis,
    xs: plannedNumbers(run, axis.id),
    domain: decadeDomain(values, metric.growsWith === null ? [] : usualRates),
    panels,
    references,
    hasLinearGuide: metric.growsWith === axis.id,
  };
}

const tripTitle = (trip: number): string =>
  trip === 0 ? 'No round trip' : `${trip} ms round trip, emulated`;
const isIn = ({ params }: Tick, trip: number | null): boolean =>
  trip === null || numberParam(params, 'roundTripMs') === trip;

function liveMark({ system, params, instances }: Tick, axis: string): ScalingViewPanel['live'] {
  const x = numberParam(params, axis);
  const value = instances.reduce((sum, { dequeuePerSec }) => sum + dequeuePerSec, 0);
  return x > 0 && value > 0 ? { x, value, system } : null;
}

/** The planned values of a parameter at the scale of the run, numbers only. */
export function plannedNumbers({ scenario, scale }: Pick<Run, 'scenario' | 'scale'>, name: string): number[] {
  const quick = scale === 'quick' ? scenario.quick?.sweep?.[name] : undefined;
  const values: readonly (ParamValue | undefined)[] = quick ??
    scenario.sweep[name] ?? [scenario.parameters[name]];
  return values.filter((value) => typeof value === 'number');
}
