import { useEffect, useRef, useState } from 'react';
import type { SimulationRequest } from '../../model/what-if.ts';
import { type SimulatedPoint, simulatedMetrics } from '../../model/what-if-series.ts';
import type { SimulatorRequest, SimulatorResponse } from './simulation-messages.ts';

export interface Simulation {
  points: readonly SimulatedPoint[];
  /** Whether further or more precise points will follow. */
  isRunning: boolean;
}

/**
 * Runs the simulation in a web worker. New points replace the previous ones one by one, so that lines move instead of
 * vanishing. `request` must be memoized: each new object starts a simulation.
 */
export function useSimulation(request: SimulationRequest | null): Simulation {
  const [simulation, setSimulation] = useState<Simulation>({ points: [], isRunning: false });
  const worker = useRef<Worker | null>(null);
  const latest = useRef<{ id: number; request: SimulationRequest | null }>({ id: 0, request: null });
  useEffect(() => {
    const created = new Worker(new URL('./simulation-worker.ts', import.meta.url), { type: 'module' });
    worker.current = created;
    created.onmessage = ({ data }: MessageEvent<SimulatorResponse>) => {
      const { id, request: currentRequest } = latest.current;
      if (data.id !== id || currentRequest === null) return;
      if (data.key === null) setSimulation(({ points }) => ({ points, isRunning: false }));
      else {
        const { key, result } = data;
        setSimulation(({ points }) => ({
          points: withPoint(points, currentRequest, { key, result: simulatedMetrics(result) }),
          isRunning: true,
        }));
      }
    };
    return () => created.terminate();
  }, []);
  useEffect(() => {
    if (request === null) return;
    const id = latest.current.id + 1;
    latest.current = { id, request };
    setSimulation(({ points }) => ({ points, isRunning: true }));
    worker.current?.postMessage({ id, request } satisfies SimulatorRequest);
  }, [request]);
  return simulation;
}

/** Adds or replaces a point, and drops those that the request does not contain. */
function withPoint(
  points: readonly SimulatedPoint[],
  { jobs }: SimulationRequest,
  { key, result }: { key: string; result: SimulatedPoint['result'] },
): SimulatedPoint[] {
  const job = jobs.find((candidate) => candidate.key === key);
  if (job === undefined) return [...points];
  const requestedKeys = new Set(jobs.map((candidate) => candidate.key));
  const others = points.filter((point) => point.job.key !== key && requestedKeys.has(point.job.key));
  return [...others, { job, result }];
}
