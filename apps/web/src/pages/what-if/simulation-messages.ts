import type { SimulationResult } from '@shardlab/model';
import type { SimulationRequest } from '../../model/what-if.ts';

/** A new request replaces the earlier ones. */
export interface SimulatorRequest {
  id: number;
  request: SimulationRequest;
}

/** The result of a job, by its key; the key null means that all jobs are done. */
export type SimulatorResponse =
  | { id: number; key: string; result: SimulationResult }
  | { id: number; key: null };
