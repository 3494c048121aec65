/** What a trial of the program `singleton` is told, and what it tells. */
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
  /** Until the service was active again; -1 if it never was. */
  gapMs: number;
}

export interface SingletonResult {
  /** The instance whose process had the service first. */
  firstHolder: number;
  /** What a second client reads after the first has added 8. */
  seenByOther: number;
  /** What it reads after the last move; undefined without one. */
  seenAfterMove: number | undefined;
  moves: Move[];
  /** From the restart of the preferred process until it has the service again; undefined if that was not tried, -1 if it never had. */
  returnedMs: number | undefined;
  journal: JournalLine[];
  history: ServiceTenure[];
  startedAtMs: number;
  endedAtMs: number;
}
