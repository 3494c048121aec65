import type { SimulationRequest } from '../../model/what-if.ts';
import type { SimulatedPoint } from '../../model/what-if-series.ts';

/** A new request replaces the earlier ones. */
export interface SimulatorRequest {
  id: number;
  request: SimulationRequest;
}

/** How far a request is: its first pass, a later one, or all of them. */
export type SimulationStage = 'coarse' | 'refining' | 'done';

/** Points that are new or more precise than before. */
export interface SimulatorResponse {
  id: number;
  stage: SimulationStage;
  points: SimulatedPoint[];
}
