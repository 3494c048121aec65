/** The computations of `npm run lab -- model`, from a hardware file and optionally a run. */
import { figureOf, type Point, type Run } from '@shardlab/contract';
import {
  type AgreementFigure,
  type AgreementRow,
  compareWithMeasured,
  type HardwareFile,
  type MeasuredPoint,
  type Prediction,
  predictWhitePaper,
  resolveHardware,
  type ScalingCase,
  type ScalingPoint,
  simulateScaling,
  simulateWhitePaper,
} from '@shardlab/model';
import { scaleScenario } from '../programs/expand-sweep.ts';
import { queueParamsOf } from '../programs/queue/points/queue-params.ts';

export function predictionsOf(hardware: HardwareFile): Prediction[] {
  return predictWhitePaper(simulateWhitePaper(resolveHardware(hardware)));
}

/** Not those with an elected writer, nor topics in one table that are stored once. */
const modelled: readonly string[] = ['sharded', 'unsharded'] satisfies MeasuredPoint['kind'][];

/** A row for each point of a system that the model has. */
export function agreementWith(hardware: HardwareFile, run: Run): AgreementRow[] {
  const { backlogMax, durability } = queueParamsOf(run.points[0]?.params ?? run.scenario.parameters);
  const points = run.points.filter(({ system }) => modelled.includes(system)).map(measuredPointOf);
  return compareWithMeasured(resolveHardware(hardware), points, {
    backlogMax,
    durability,
    phases: scaleScenario(run.scenario, run.scale).phases,
  });
}

export function measuredPointOf(point: Point): MeasuredPoint {
  return {
    kind: point.system as MeasuredPoint['kind'],
    params: queueParamsOf(point.params),
    figures: {
      ...figureIfMeasured(point, 'dequeuePerSec'),
      ...figureIfMeasured(point, 'cpuUsPerMessage'),
      ...medianOf(point, 'commit', 'commitMs'),
      ...medianOf(point, 'dequeueCall', 'dequeueCallMs'),
      ...medianOf(point, 'latency', 'latencyMs'),
    },
  };
}

/** Nothing if the figure was not measured, or is 0 because no message was dequeued. */
function figureIfMeasured(
  point: Point,
  figure: 'dequeuePerSec' | 'cpuUsPerMessage',
): MeasuredPoint['figures'] {
  const value = figureOf(point, figure);
  return value > 0 ? { [figure]: value } : {};
}

/** Undefined if the point lacks the distribution, as in older runs. */
function medianOf(
  { latencies }: Point,
  distribution: string,
  figure: AgreementFigure,
): MeasuredPoint['figures'] {
  const times = latencies[distribution];
  return times === undefined || times.count === 0 ? {} : { [figure]: times.p50 };
}

/** This machine, a larger one, and one such machine per instance. */
export function scalingOf(hardware: HardwareFile): ScalingPoint[] {
  const costs = resolveHardware(hardware);
  const here = costs.machine.coresPerNode;
  const large = 64;
  const sharded = (instances: number, machines: number, coresPerMachine: number): ScalingCase => ({
    kind: 'sharded',
    instances,
    machines,
    coresPerMachine,
  });
  return simulateScaling(costs, [
    ...[1, 2, 8, 64].map((instances) => sharded(instances, 1, here)),
    ...[1, 8, 16, 32, 64].map((instances) => sharded(instances, 1, large)),
    ...[8, 64, 1000].map((instances) => sharded(instances, instances, here)),
    ...[1, 8, 64].map((instances) => ({ ...sharded(instances, 1, large), kind: 'unsharded' as const })),
  ]);
}
