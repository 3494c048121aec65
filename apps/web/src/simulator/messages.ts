import type { SimulationResult } from '@shardlab/model';
import type { SimulationRequest } from '../model/what-if.ts';

/** A request replaces those before it. */
export interface ToSimulator {
  id: number;
  request: SimulationRequest;
}

/** The result of a job, by its key; a key of null says that all are done. */
export type FromSimulator = { id: number; key: string; result: SimulationResult } | { id: number; key: null };
