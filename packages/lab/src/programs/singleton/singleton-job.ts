/** The job and the report of a trial of the program `singleton`. */
import type { ServiceTenure } from '@shardlab/engine';
import type { JournalLine } from './journal.ts';

export const faults = ['none', 'stop', 'kill', 'hang', 'wake', 'kills'] as const;
export type Fault = (typeof faults)[number];

export interface SingletonJob {
  dir: string;
  instances: number;
  fault: Fault;
  kept: boolean;
  /** One object in each process instead of one in the cluster: what a language's own singleton is. */
  perProcess: boolean;
  measureMs: number;
  /** Between two kills, milliseconds. */
  killEveryMs: number;
}

/** A fault and the time without the service that it caused. */
export interface Move {
  fault: Fault;
  /** Epoch ms. */
  atMs: number;
  /** Time until the service was active again; -1 if it never was. */
  gapMs: number;
}

export interface SingletonResult {
  /** The instance whose process had the service first. */
  firstHolder: number;
  /** Value that a second client reads after the first has added 8. */
  seenByOther: number;
  /** Value that it reads after the last move; undefined without a move. */
  seenAfterMove: number | undefined;
  moves: Move[];
  /**
   * Time from the restart of the preferred process until it has the service again; undefined if that was not tried, -1 if it
   * never got it.
   */
  returnedMs: number | undefined;
  journal: JournalLine[];
  history: ServiceTenure[];
  startedAtMs: number;
  endedAtMs: number;
}
