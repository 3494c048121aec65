import { useEffect, useRef, useState } from 'react';
import type { SimulationRequest } from '../model/what-if.ts';
import type { SimulatedPoint } from '../model/what-if-series.ts';
import type { FromSimulator, ToSimulator } from '../simulator/messages.ts';

export interface Simulation {
  points: readonly SimulatedPoint[];
  /** Whether more or better points are still to come. */
  isRunning: boolean;
}

/**
 * Simulates in a worker; the points of a request replace those before it one by one, so that lines move instead of
 * vanishing. `request` must keep its identity while it is the same.
 */
export function useSimulation(request: SimulationRequest | null): Simulation {
  const [simulation, setSimulation] = useState<Simulation>({ points: [], isRunning: false });
  const worker = useRef<Worker | null>(null);
  const asked = useRef<{ id: number; request: SimulationRequest | null }>({ id: 0, request: null });
  useEffect(() => {
    const made = new Worker(new URL('../simulator/worker.ts', import.meta.url), { type: 'module' });
    worker.current = made;
    made.onmessage = ({ data }: MessageEvent<FromSimulator>) => {
      const { id, request: of } = asked.current;
      if (data.id !== id || of === null) return;
      if (data.key === null) setSimulation(({ points }) => ({ points, isRunning: false }));
      else {
        const { key, result } = data;
        setSimulation(({ points }) => ({ points: withPoint(points, of, { key, result }), isRunning: true }));
      }
    };
    return () => made.terminate();
  }, []);
  useEffect(() => {
    if (request === null) return;
    const id = asked.current.id + 1;
    asked.current = { id, request };
    setSimulation(({ points }) => ({ points, isRunning: true }));
    worker.current?.postMessage({ id, request } satisfies ToSimulator);
  }, [request]);
  return simulation;
}

/** Points that the request no longer asks for go. */
function withPoint(
  points: readonly SimulatedPoint[],
  { jobs }: SimulationRequest,
  { key, result }: { key: string; result: SimulatedPoint['figures'] },
): SimulatedPoint[] {
  const job = jobs.find((each) => each.key === key);
  if (job === undefined) return [...points];
  const asked = new Set(jobs.map((each) => each.key));
  const others = points.filter((point) => point.job.key !== key && asked.has(point.job.key));
  return [...others, { job, figures: result }];
}
