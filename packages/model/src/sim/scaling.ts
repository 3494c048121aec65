/** Extrapolation: from the costs of one instance to clusters of eight, sixty-four and a thousand. */
import type { ClusterCosts } from './costs.ts';
import { bottleneckOf, type SimulationResult } from './result.ts';
import { simulate } from './simulate.ts';
import type { ModelWorkload } from './workload.ts';

export interface ScalingCase {
  kind: ModelWorkload['kind'];
  instances: number;
  /** Machines that the instances are spread over; each has its own cores and its own disk. */
  machines: number;
  coresPerMachine: number;
}

export interface ScalingPoint extends ScalingCase {
  result: SimulationResult;
  bottleneck: ReturnType<typeof bottleneckOf>;
}

/** Enqueuers of each instance, and as many dequeuers. */
export const sessionsPerInstance = 16;

export function simulateScaling(
  costs: ClusterCosts,
  cases: readonly ScalingCase[],
  seed = 1,
): ScalingPoint[] {
  return cases.map((each) => {
    const sessions = each.instances * sessionsPerInstance;
    const machine = { ...costs.machine, nodes: each.machines, coresPerNode: each.coresPerMachine };
    const result = simulate({
      costs: { ...costs, machine },
      seed,
      workload: {
        kind: each.kind,
        instances: each.instances,
        enqueuers: sessions,
        dequeuers: sessions,
        subscribers: 1,
        operationsPerTransaction: 10,
        payloadBytes: 512,
        backlogMax: 20_000,
      },
      warmupOperations: sessions * 400,
      measureOperations: Math.max(200_000, sessions * 800),
    });
    return { ...each, result, bottleneck: bottleneckOf(result.use) };
  });
}
