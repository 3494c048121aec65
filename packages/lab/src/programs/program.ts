/**
 * A program defines the work of a trial's sessions: its parameters and figures, the systems that can run it, and how a trial is
 * run. Scenarios name one; a study may bring its own.
 */
import type {
  Combination,
  FigureInfo,
  KilledTrial,
  ParameterInfo,
  Params,
  ParamValue,
  Phases,
  Point,
  Scenario,
  SystemInfo,
} from '@shardlab/contract';
import type { TSchema } from 'typebox';
import type { ScenarioProblem } from '../errors/scenario-problems.ts';
import type { RawShape } from '../surroundings/surroundings.ts';
import type { MissingOptions } from '../systems/missing.ts';
import type { KilledTrialOptions, TrialOptions, TrialOutcome } from '../trial/trial.ts';

export interface Parameter extends ParameterInfo {
  /** Schema of one value. */
  schema: TSchema;
  /** If it is left out, a scenario must give a value, unless it is optional. */
  default?: ParamValue;
  /** Points may be without it. */
  optional?: true;
}

export interface Program {
  id: string;
  title: string;
  /** Parameters from the outermost loop of a sweep to the innermost. */
  parameters: readonly Parameter[];
  /** The measured figures; charts show the first one. */
  figures: readonly FigureInfo[];
  /** The systems that can run it. */
  systems: readonly SystemInfo[];
  /** What the named systems need and this machine lacks, a sentence for each. Default: they need nothing. */
  missing?(systems: readonly string[], options?: MissingOptions): string[];
  /** Installs of that what this process can, and tells `say` of it; what it cannot remains missing. Default: nothing. */
  install?(systems: readonly string[], say: (sentence: string) => void): Promise<void>;
  /** Faults of a scenario whose values are valid one by one; empty if it can run. */
  check(scenario: Scenario): ScenarioProblem[];
  /** About how long a trial takes, milliseconds. */
  estimateTrialMs(combination: Combination, phases: Phases): number;
  /** Disk space that a trial may need, bytes. */
  trialBytesMax(scenario: Scenario, params: Params): number;
  /** Maximum load of a trial on the machine; left out if no parameter gives the number of its sessions. */
  trialLoad?(combination: Combination): TrialLoad;
  /** Its trials report their state while they run (`onTick`). */
  hasTicks?: true;
  /** Runs a trial. Rejects if it fails or hangs, or its signal aborts; no process and no file of it remains in any case. */
  run(options: TrialOptions): Promise<TrialOutcome>;
  /** A contradiction between the measurements of a point, in words; null if they agree. */
  contradiction?(point: Point): string | null;
  /** The raw loop whose rate limits the first figure at a point; left out if there is none. */
  rawShape?(params: Params): RawShape;
  /** What the bounds beside a trial of a point have in common with it; null or left out if they cannot be compared with it. */
  loopCell?(params: Params): LoopCell | null;
  /** How durability is shown; left out if the program's systems keep nothing. */
  kill?: KillTest;
}

/** Sessions of one process, whatever the instances of the point: so the rate of several is seen against one log. */
export interface LoopCell {
  schedule: 'at-once' | 'enqueue';
  enqueuers: number;
  dequeuers: number;
  /** 0: a queue. */
  subscribers: number;
  operationsPerTransaction: number;
  payloadBytes: number;
}

export interface TrialLoad {
  /** That enqueue and dequeue at the same time. */
  sessions: number;
  /** That serve instances or hold sessions. */
  processes: number;
  /** Messages are sent at intended times; otherwise sessions work as fast as they can. */
  isPaced: boolean;
}

export type KilledPoint = Pick<Combination, 'system' | 'params'>;

/** A trial that ends in a kill of all its processes, and whose folder new processes then read. */
export interface KillTest {
  /** One trial is killed for each system and each of these words. */
  durabilityOf(point: KilledPoint): string;
  /** Whether what was acknowledged is to survive a kill. Otherwise what is lost is reported, and is no fault. */
  isPromised(point: KilledPoint): boolean;
  /** Whether a point can be killed; of those that can, the seed chooses. */
  canKill(point: KilledPoint): boolean;
  estimateMs(point: KilledPoint, phases: Phases): number;
  /** Rejects as `run` does. */
  run(options: KilledTrialOptions): Promise<KilledTrial>;
}
