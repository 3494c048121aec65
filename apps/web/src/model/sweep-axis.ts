/** The horizontal axis of the scaling chart: threads, or the parameter that the scenario varies most. */
import {
  type ParameterInfo,
  type Params,
  type ProgramInfo,
  paramInWords,
  type Scenario,
} from '@shardlab/contract';
import { formatAxisCount } from './format.ts';

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

/** The parameter with the most values in the sweep, all of them numbers; the innermost on a tie. */
export function sweepAxis(sweep: Sweep, { parameters }: Pick<ProgramInfo, 'parameters'>): SweepAxis {
  const candidates = parameters.filter(
    ({ name, names }) => names === undefined && !shownInLegend.includes(name),
  );
  const count = ({ name }: ParameterInfo) => sweep[name]?.length ?? 0;
  const most = candidates.reduce((best, each) => (count(each) >= count(best) ? each : best));
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
  return program.parameters.flatMap((parameter) => {
    const { name } = parameter;
    const value = params[name];
    const isVaried = (sweep[name]?.length ?? 0) > 1;
    if (name === axis.id || shownInLegend.includes(name) || value === undefined || !isVaried) return [];
    return [paramInWords(parameter, value)];
  });
}
