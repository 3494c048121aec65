/** The scaling chart of a run: axes from the plan, a panel for each round trip, the document's lines. */
import {
  type DocumentTable,
  numberParam,
  type Params,
  type ProgramInfo,
  type Run,
  type Tick,
} from '@shardlab/contract';
import { type DocumentCurve, documentCurves } from './document-curves.ts';
import { lineNames } from './line-labels.ts';
import type { Metric } from './point-metrics.ts';
import { plannedCombinations, plannedNumbers, plannedSweep, plannedSystems } from './run-plan.ts';
import { decadeDomain } from './scaling-geometry.ts';
import { type LineKind, type RunPoint, type ScalingSeries, scalingSeries } from './scaling-series.ts';
import { otherVariedParams, type SweepAxis, sweepAxis } from './sweep-axis.ts';

export interface RunScalingView {
  axis: SweepAxis;
  /** The planned values of the horizontal axis. */
  xs: readonly number[];
  domain: [low: number, high: number];
  /** All lines that are planned, without their instances and round trips. */
  lines: readonly LineKind[];
  /** Names of all lines that are planned in a panel. */
  names: readonly string[];
  panels: ScalingViewPanel[];
  references: { label: string; shortLabel: string; value: number; system: string }[];
  /** The document's curves over the same axis. */
  curves: DocumentCurve[];
  hasLinearGuide: boolean;
  /** Combinations of the other parameters, such as "8 dequeuers", of which only `variant` is shown. Empty if all lines are. */
  variants: readonly string[];
  variant: string | null;
}

export interface ScalingViewPanel {
  id: string;
  title: string;
  /** Instead of lines that will not come; empty where there are points, or may be some later. */
  note: string;
  series: ScalingSeries<RunPoint>[];
  live: ({ x: number; value: number } & LineKind) | null;
}

/** More lines than this, which differ in their system or other parameters, cannot be told apart. */
const linesMax = 20;

/** Rates from 100 to 100,000 a second are expected on any machine, so that the first points of a run do not move the axis. */
const usualRates = [100, 100_000] as const;
export const liveMetric = 'dequeuePerSec';

/**
 * `variant`: the combination of the other parameters that is shown if there are too many lines for all; default: the last one planned.
 * `expectsPoints`: whether further points may be measured. `live`: the newest tick of a run under way; null for none. `tables`: those
 * of its document. Null if the run has no axis, see `sweepAxis`.
 */
export function scalingView(
  run: Pick<Run, 'scenario' | 'scale' | 'points'>,
  options: {
    program: ProgramInfo;
    metric: Metric;
    expectsPoints: boolean;
    live: Tick | null;
    tables: readonly DocumentTable[];
    variant?: string | null;
  },
): RunScalingView | null {
  const { program, metric, expectsPoints, live, tables } = options;
  const { scenario } = run;
  const sweep = plannedSweep(run);
  const axis = sweepAxis(sweep, program);
  if (axis === null) return null;
  const trips = plannedNumbers(run, 'roundTripMs');
  const others = (params: Params) => otherVariedParams(params, { axis, sweep, program });
  const nameOf = lineNames({
    hasSystems: plannedSystems(run).length > 1,
    hasInstances: plannedNumbers(run, 'instances').length > 1,
  });
  const planned = plannedCombinations(run, program).map(({ system, params }) => ({
    system,
    instances: numberParam(params, 'instances'),
    otherParams: others(params),
  }));
  const variants = variantsIn(planned);
  const variant = variants.find((each) => each === options.variant) ?? variants.at(-1) ?? null;
  const isShown = (otherParams: readonly string[]) => variant === null || variantOf(otherParams) === variant;
  /** Lines of one variant need not repeat it in their names. */
  const withoutVariant = <Line extends LineKind>(line: Line): Line =>
    variant === null ? line : { ...line, otherParams: [] };
  const lines = planned.filter(({ otherParams }) => isShown(otherParams)).map(withoutVariant);
  const points = run.points.filter(({ params }) => isShown(others(params)));
  const panels = (trips.length > 1 ? trips : [null]).map(
    (trip): ScalingViewPanel => ({
      id: trip === null ? 'all' : `trip-${trip}`,
      title: trip === null ? '' : tripTitle(trip),
      note: expectsPoints || points.some((point) => isIn(point, trip)) ? '' : 'not measured',
      series: scalingSeries(points, { metric, roundTrip: trip ?? 'all', axis, sweep, program }).map(
        (each) => {
          const line = withoutVariant(each);
          return { ...line, name: nameOf(line) };
        },
      ),
      live:
        live !== null && metric.id === liveMetric && isIn(live, trip) && isShown(others(live.params))
          ? liveMark(live, axis.id, variant === null ? others(live.params) : [])
          : null,
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
  const curves = documentCurves(run, tables, { axis, metric });
  const values = [
    ...panels.flatMap(({ series }) => series.flatMap((entry) => entry.points.map(({ value }) => value))),
    ...references.map(({ value }) => value),
    ...curves.flatMap(({ points }) => points.map(({ value }) => value)),
  ];
  return {
    axis,
    xs: plannedNumbers(run, axis.id),
    domain: decadeDomain(values, expectsPoints && metric.growsWith !== null ? usualRates : []),
    lines,
    names: [...new Set(lines.map(nameOf))],
    panels,
    references,
    curves,
    hasLinearGuide: metric.growsWith === axis.id,
    variants,
    variant,
  };
}

const variantOf = (otherParams: readonly string[]): string => otherParams.join(', ');

function variantsIn(planned: readonly LineKind[]): string[] {
  const lines = new Set(planned.map(({ system, otherParams }) => `${system}/${variantOf(otherParams)}`));
  const variants = new Set(planned.map(({ otherParams }) => variantOf(otherParams)));
  return lines.size > linesMax && variants.size > 1 ? [...variants] : [];
}

const tripTitle = (trip: number): string =>
  trip === 0 ? 'No round trip' : `${trip} ms round trip, emulated`;
const isIn = ({ params }: Pick<Tick, 'params'>, trip: number | null): boolean =>
  trip === null || numberParam(params, 'roundTripMs') === trip;

function liveMark(
  { system, params, instances }: Tick,
  axis: string,
  otherParams: string[],
): ScalingViewPanel['live'] {
  const x = numberParam(params, axis);
  const value = rateNow({ instances });
  return x > 0 && value > 0 ? { x, value, system, otherParams } : null;
}

/** Dequeued messages a second, of all instances. */
export const rateNow = ({ instances }: Pick<Tick, 'instances'>): number =>
  instances.reduce((sum, { dequeuePerSec }) => sum + dequeuePerSec, 0);
