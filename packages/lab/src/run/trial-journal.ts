/**
 * Trials that were measured for a recording, in a file to which each is added when it ends. So a recording continues where it
 * was stopped, and figures of a document that show the same workload share their trials.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Phases, Scenario, Tick } from '@shardlab/contract';
import { encodeHistogram, mergeHistograms } from '../meters/latency.ts';
import type { MeasuredRepeat, Trial } from '../trial/trial.ts';
import type { RunPlan } from './plan-run.ts';
import type { MeasuredTrial } from './trial-measurer.ts';

/** All that decides what a trial measures, beside the code and the machine. */
export interface TrialIdentity {
  trial: Trial;
  scenario: Pick<Scenario, 'seed' | 'faults' | 'conversion' | 'probes'>;
  phases: Phases;
  /** Whether a trial of the point is killed after it. */
  isKilled: boolean;
}

export function identityOf(trial: Trial, scenario: Scenario, { phases, kills }: RunPlan): TrialIdentity {
  return { trial, scenario, phases, isKilled: kills.has(trial) };
}

/** A line of the file, as JSON after its checksum. */
interface StoredTrial extends Omit<MeasuredTrial, 'repeat'> {
  key: string;
  repeat: Omit<MeasuredRepeat, 'latencies'> & { latencies: Record<string, string> };
}

export class TrialJournal {
  readonly #path: string;
  readonly #trials = new Map<string, MeasuredTrial>();

  /**
   * Opens or creates the file. A last line that was cut off when a recording was killed is removed. Any other that is not as it was
   * written is left out, so that its trial is measured again, and `onDamage` is told.
   */
  constructor(path: string, onDamage: (sentence: string) => void = (text) => process.emitWarning(text)) {
    this.#path = path;
    mkdirSync(dirname(path), { recursive: true });
    if (!existsSync(path)) writeFileSync(path, '');
    const text = readFileSync(path, 'utf8');
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    if (complete.length < text.length) writeFileSync(path, complete);
    for (const [index, line] of complete.split('\n').slice(0, -1).entries()) {
      const json = line.slice(checksumLength + 1);
      if (line.slice(0, checksumLength) !== checksumOf(json)) {
        onDamage(`Line ${index + 1} of ${path} is damaged: its trial is measured again`);
        continue;
      }
      const { key, ...stored } = JSON.parse(json) as StoredTrial;
      this.#trials.set(key, { ...stored, repeat: decodeRepeat(stored.repeat) });
    }
  }

  find(identity: TrialIdentity): MeasuredTrial | undefined {
    return this.#trials.get(keyOf(identity));
  }

  /** Ticks are kept of the first repeat only: one is enough to replay a point. */
  add(identity: TrialIdentity, { ticks, ...measured }: MeasuredTrial): void {
    const kept = { ...measured, ticks: identity.trial.repeat === 0 ? ticks : [] };
    const key = keyOf(identity);
    this.#trials.set(key, kept);
    const stored: StoredTrial = { key, ...kept, repeat: encodeRepeat(kept.repeat) };
    const json = JSON.stringify(stored);
    appendFileSync(this.#path, `${checksumOf(json)} ${json}\n`);
  }

  /** Ticks of the run's points, in the order of their trials. */
  ticksOf(identities: readonly TrialIdentity[]): Tick[] {
    return identities.flatMap((identity) => this.find(identity)?.ticks ?? []);
  }
}

/** Hexadecimal digits before each line. */
const checksumLength = 8;
const checksumOf = (json: string) => crc32(json).toString(16).padStart(checksumLength, '0');

/** Trials with the same key measure the same. */
export function keyOf({ trial, scenario, phases, isKilled }: TrialIdentity): string {
  const { seed, faults = null, conversion = null, probes = false } = scenario;
  const { warmupMs, measureMs, drainMs } = phases;
  return JSON.stringify([
    trial.key,
    trial.repeat,
    [warmupMs, measureMs, drainMs],
    seed,
    faults,
    conversion,
    probes,
    isKilled,
  ]);
}

function encodeRepeat({ latencies, ...repeat }: MeasuredRepeat): StoredTrial['repeat'] {
  const encoded = Object.entries(latencies).map(([name, histogram]) => [name, encodeHistogram(histogram)]);
  return { ...repeat, latencies: Object.fromEntries(encoded) };
}

function decodeRepeat({ latencies, ...repeat }: StoredTrial['repeat']): MeasuredRepeat {
  const decoded = Object.entries(latencies).map(([name, text]) => [name, mergeHistograms([text])]);
  return { ...repeat, latencies: Object.fromEntries(decoded) };
}
