/**
 * A hardware file: a cluster's costs with the source of every number. The sources are: stated by a document, measured by a
 * calibration, given by the system's design (counts and switches, no costs), chosen without evidence, and fitted: a multiple of
 * one of at most three free parameters, which are fitted to observations that the file names. The multiples are chosen too.
 */

import type { ClusterCosts } from '../sim/costs.ts';
import type { Sweep } from '../sim/sweep.ts';

export const hardwareLimits = {
  /** With more free parameters than this a fit to a handful of sentences would say nothing. */
  parametersMax: 3,
} as const;

export type KnownSource = 'stated' | 'measured' | 'built' | 'chosen';

export type SourcedNumber =
  | { source: KnownSource; value: number; note?: string }
  | { source: 'fitted'; parameter: string; times: number; note?: string };

/** The same tree with a source at each leaf. */
export type Sourced<T> = T extends number
  ? SourcedNumber
  : T extends string | boolean
    ? { source: KnownSource; value: T; note?: string }
    : T extends null
      ? null
      : { [K in keyof T]: Sourced<T[K]> };

export interface FreeParameter {
  value: number;
  /** The fit looks between these. */
  low: number;
  high: number;
  meaning: string;
}

/** A document's observation on the hardware that a simulation can repeat: the best dequeue rate of a sweep. */
export interface Observation {
  claim: string;
  says: string;
  dequeuePerSec: number;
  sweep: Sweep;
}

export interface HardwareFile {
  $schema?: string;
  version: 1;
  id: string;
  title: string;
  about: string;
  /** When a calibration measured the costs, epoch milliseconds; left out where a document states them. */
  calibratedAtMs?: number;
  parameters: Record<string, FreeParameter>;
  observations: Observation[];
  costs: Sourced<ClusterCosts>;
}
