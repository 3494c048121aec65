/** The horizontal axis of the scaling chart: threads, or the parameter that the scenario varies most. */
import {
  type ParameterInfo,
  type Params,
  type ProgramInfo,
  paramInWords,
  type Scenario,
} from '@shardlab/contract';
import { formatAxisCount } from './format.ts';
import { variedParameters } from './run-plan.ts';

type Sweep = Scenario['sweep'];

export interface SweepAxis {
  /** The name of the parameter. */
  id: string;
  /** Completes a title: "Dequeue rate over threads". */
  over: string;
  /** Label below the axis. */
  title: string;
  /** "16 threads" */
  describe(value: number): string;
  format(value: number): string;
}

/** Parameters that the legend of the chart shows by shape and by dash. */
const shownInLegend = ['instances', 'roundTripMs'];

/**
 * The parameter with the most values in the sweep, all of them numbers above 0, since the axis is logarithmic; the innermost on
 * a tie. Null if no parameter has several: then each combination stands for itself, see `combinationRows`.
 */
export function sweepAxis(sweep: Sweep, program: Pick<ProgramInfo, 'parameters'>): SweepAxis | null {
  const count = ({ name }: ParameterInfo) => sweep[name]!.length;
  const most = variedParameters(sweep, program)
    .filter(
      ({ name, names }) =>
        names === undefined &&
        !shownInLegend.includes(name) &&
        sweep[name]!.every((value) => typeof value === 'number' && value > 0),
    )
    .reduce<ParameterInfo | null>(
      (best, each) => (best === null || count(each) >= count(best) ? each : best),
      null,
    );
  if (most === null) return null;
  return {
    id: most.name,
    over: most.over,
    title: most.title,
    describe: (value) => paramInWords(most, value),
    format: formatAxisCount,
  };
}

/** Text for the further parameters that the sweep varies, and that neither the axis nor the legend shows. */
export function otherVariedParams(
  params: Params,
  options: { sweep: Sweep; axis: SweepAxis; program: Pick<ProgramInfo, 'parameters'> },
): string[] {
  const { sweep, axis, program } = options;
  return variedParameters(sweep, program).flatMap((parameter) => {
    const { name } = parameter;
    const value = params[name];
    if (name === axis.id || shownInLegend.includes(name) || value === undefined) return [];
    return [paramInWords(parameter, value)];
  });
}
