/** The inputs and results of a trial, common to all programs. */
import type {
  Combination,
  Disturbance,
  EventHolders,
  Integrity,
  Phases,
  Provenance,
  RateSeries,
  Repeat,
  SampledTraces,
  Scenario,
  SequenceLane,
  SessionWaits,
  Steadiness,
  Swimlane,
  Tick,
} from '@shardlab/contract';
import type { WaitStats } from '@shardlab/engine';
import type { Histogram } from '../meters/latency.ts';

/** One repeat of one combination. */
export interface Trial extends Combination {
  /** Position in the run, from 0. */
  index: number;
  repeat: number;
  /** Identifies the point to which the trial belongs. */
  key: string;
}

export interface TrialOptions {
  trial: Trial;
  scenario: Scenario;
  phases: Phases;
  /** Scratch folder of this trial: created by it, and always removed. */
  dir: string;
  signal?: AbortSignal;
  /** `atMs` is 0; the run fills it in. */
  onTick?: (tick: Tick) => void;
  /** Called with the process ids of the instances, in their order, once all are open. */
  onOpen?: (pids: number[]) => void;
  /** How long a trial may exceed its phases before its processes are killed, milliseconds. */
  graceMs?: number;
}

/** Of a trial whose processes are killed, and of which only what they acknowledged is looked at. */
export interface KilledTrialOptions extends Omit<TrialOptions, 'onOpen' | 'onTick'> {
  /** Called with the folder of the system when all processes are dead. */
  onKilled?: (dir: string) => void | Promise<void>;
}

export interface TrialOutcome {
  /** Figures by name, in the program's units. One that could not be measured, or is meaningless, is left out. */
  figures: Record<string, number>;
  provenance: Provenance;
  /** Distributions by name, in microseconds. */
  latencies: Record<string, Histogram>;
  /** Counts by name: element i counts values from 2^i to 2^(i+1). Left out by programs without any. */
  histograms?: Record<string, number[]>;
  /**
   * The activity of each session after one message was enqueued, or which instance had a service; only for programs that record
   * it.
   */
  swimlanes?: Swimlane[];
  /** The waits of each session; only for programs that trace them. They also record one transaction call by call. */
  sessionWaits?: SessionWaits[];
  sequence?: SequenceLane[];
  /** The events of a few messages; of queues whose messages the engine traces. */
  traces?: SampledTraces;
  /** The holders that sessions waited for; only for programs that sample them. */
  holders?: EventHolders[];
  /** Rates of the participants over time; of the programs that count in slices of time. */
  rates?: RateSeries[];
  /** Figures that each instance has for itself, by name. */
  byInstance: Record<string, number[]>;
  waits: WaitStats[];
  integrity: Integrity;
  /** The longest measured window of an instance. */
  measuredMs: number;
  /** Durability as the system reports it once it is open; only for programs that request it. */
  stated?: string;
  /** Left out if the halves of the window are not meant to agree: with faults or a conversion. */
  steady?: Steadiness;
  /** Present if the scenario has faults or a conversion. */
  disruption?: Pick<Repeat, 'faults' | 'conversion' | 'timeline'>;
}

/** The outcome of a trial without an account of latencies, instances or waits but for what `parts` has of them. */
export function measuredOutcome(
  parts: Pick<TrialOutcome, 'figures' | 'integrity' | 'measuredMs'> & Partial<TrialOutcome>,
): TrialOutcome {
  return { provenance: 'measured', latencies: {}, byInstance: {}, waits: [], ...parts };
}

/** The outcome of a repeat of a point, and how it came about. */
export interface MeasuredRepeat extends TrialOutcome {
  disturbance?: Disturbance;
  /** Trials that were run for it; default 1. */
  attempts?: number;
}
