import { useEffect, useRef, useState } from 'react';
import type { SimulationRequest } from '../../model/what-if.ts';
import { type Positions, received, startPositions } from '../../model/what-if-positions.ts';
import type { SimulationStage, SimulatorRequest, SimulatorResponse } from './simulation-messages.ts';

export interface Simulation extends Positions<SimulationRequest> {
  stage: SimulationStage | 'waiting';
}

/**
 * Runs the simulation in a web worker. `request` must be memoized: each new object starts a simulation. Until its first points
 * arrive, those of the previous request are returned.
 */
export function useSimulation(request: SimulationRequest | null): Simulation {
  const [simulation, setSimulation] = useState<Simulation>({ ...startPositions, stage: 'waiting' });
  const worker = useRef<Worker | null>(null);
  const latest = useRef<{ id: number; request: SimulationRequest | null }>({ id: 0, request: null });
  useEffect(() => {
    const created = new Worker(new URL('./simulation-worker.ts', import.meta.url), { type: 'module' });
    worker.current = created;
    created.onmessage = ({ data: { id, stage, points } }: MessageEvent<SimulatorResponse>) => {
      const { id: latestId, request: answered } = latest.current;
      if (id !== latestId || answered === null) return;
      setSimulation((before) => ({
        ...received(before, { request: answered, points, isLast: stage === 'done' }),
        stage,
      }));
    };
    return () => created.terminate();
  }, []);
  useEffect(() => {
    if (request === null) return;
    const id = latest.current.id + 1;
    latest.current = { id, request };
    setSimulation((before) => ({ ...before, stage: 'waiting' }));
    worker.current?.postMessage({ id, request } satisfies SimulatorRequest);
  }, [request]);
  return simulation;
}
