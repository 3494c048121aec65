/** The points of a run that the model can repeat. */
import type { MeasuredWorkload, Point, Run } from '@shardlab/contract';
import { scaleScenario } from '../programs/expand-sweep.ts';
import { queueParamsOf } from '../programs/queue/points/queue-params.ts';
import { measuredPointOf } from './model-report.ts';

/** Above this size payloads are streamed. */
const payloadBytesMax = 1024 ** 2;

/**
 * Points of sharded and unsharded queues, and of sharded topics, whose workloads the model covers completely. Unsharded topics
 * are excluded: the lab measures a queue for each subscriber in their place.
 */
export function measuredWorkloads(
  run: Pick<Run, 'id' | 'scenario' | 'scale'> & { endedAtMs: number },
  points: Iterable<Point>,
): MeasuredWorkload[] {
  const { scenario, scale } = run;
  if (scenario.faults !== undefined || scenario.conversion !== undefined) return [];
  const { warmupMs, measureMs } = scaleScenario(scenario, scale).phases;
  const workloads: MeasuredWorkload[] = [];
  for (const point of points) {
    if (!isModelled(point)) continue;
    const { instances, threads, roundTripMs, payloadBytes, operationsPerTransaction, ...params } =
      queueParamsOf(point.params);
    const { subscribers, backlogMax, durability } = params;
    const { kind, figures } = measuredPointOf(point);
    if (figures.dequeuePerSec === undefined) continue;
    workloads.push({
      run: run.id,
      title: scenario.title,
      endedAtMs: run.endedAtMs,
      kind,
      params: {
        instances,
        threads,
        roundTripMs,
        payloadBytes,
        operationsPerTransaction,
        ...(subscribers === undefined ? {} : { subscribers }),
      },
      backlogMax,
      durability,
      phases: { warmupMs, measureMs },
      figures,
      disturbed: (point.conditions?.disturbed ?? 0) > 0,
    });
  }
  return workloads;
}

/** A missing parameter has its default. */
function isModelled({ program, system, params }: Point): boolean {
  const { sessions, rows, dequeuers, placement, backlog, shardsPerInstance, cacheMiB, payloadBytes } = params;
  const isQueue = program === 'queue' && (system === 'sharded' || system === 'unsharded');
  return (
    (isQueue || (program === 'topic' && system === 'sharded')) &&
    [undefined, 'embedded'].includes(sessions as string) &&
    [undefined, 'none'].includes(rows as string) &&
    [undefined, 'same-instance'].includes(dequeuers as string) &&
    [undefined, 'even'].includes(placement as string) &&
    [undefined, 0].includes(backlog as number) &&
    [undefined, 1].includes(shardsPerInstance as number) &&
    cacheMiB === undefined &&
    (payloadBytes as number) <= payloadBytesMax &&
    typeof params.backlogMax === 'number'
  );
}

/** The newest measurement of each workload, in the order given; `workloads` has the newest first. At most `max`. */
export function newestOfEach(workloads: Iterable<MeasuredWorkload>, max: number): MeasuredWorkload[] {
  const found = new Map<string, MeasuredWorkload>();
  for (const workload of workloads) {
    const { kind, params, backlogMax, durability } = workload;
    const key = JSON.stringify([kind, params, backlogMax, durability]);
    if (!found.has(key)) found.set(key, workload);
    if (found.size === max) break;
  }
  return [...found.values()];
}
