/**
 * Measures the costs of the engine's work on this machine through its public API, as input of the model. Each workload
 * isolates one cost. None of them is a point of a figure, so that the figures can prove the model wrong.
 */
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openInstance } from '@shardlab/engine';
import type { HardwareFile } from '@shardlab/model';
import { captureEnvironment } from '../run/environment.ts';
import { makeScratchFolder } from '../trial/scratch-folder.ts';
import { measureClient } from './client-costs.ts';
import { measureBusyCoreSpeed } from './core-speed.ts';
import { hardwareFromMeasurements } from './hardware-from-measurements.ts';
import { measureSharded } from './sharded-costs.ts';
import { measureTimerLateUs } from './timer-lateness.ts';
import { measureTransfer } from './transfer-cost.ts';
import { measureUnsharded } from './unsharded-costs.ts';

export interface CalibrateOptions {
  /** Folder for scratch data; default: the system's temporary folder. */
  dataDir?: string;
  payloadBytes?: number;
  /** Duration of a slice in milliseconds, and slices per workload; default 80 and 3: about 12 s on a quiet machine. */
  sliceMs?: number;
  rounds?: number;
  onProgress?: (progress: CalibrationProgress) => void;
  /** Epoch milliseconds. */
  now?: () => number;
}

export interface CalibrationProgress {
  /** The current step, as a phrase: "a sharded queue". */
  what: string;
  /** How much of a typical calibration's time is done, 0 to 1. */
  share: number;
}

/** The steps in order, each with its share of a calibration's time on a quiet machine. */
const steps = [
  { what: 'the machine', part: 0.12 },
  { what: 'the load generator', part: 0.06 },
  { what: 'a sharded queue', part: 0.58 },
  { what: 'an unsharded queue', part: 0.18 },
  { what: 'two processes sharing one file', part: 0.06 },
] as const;

/** How long a calibration takes on a quiet machine. A busy one takes up to four times as long: disturbed slices are repeated. */
export const calibrationMs = 15_000;

/** Rejects with an error of the engine or with `DATA_FOLDER_UNUSABLE`; leaves no files behind. */
export async function calibrate(options: CalibrateOptions = {}): Promise<HardwareFile> {
  const { payloadBytes = 512, sliceMs = 80, rounds = 3, now = Date.now } = options;
  const step = (index: number, done = 0) => tellProgress(options.onProgress, index, done);
  const folder = await makeScratchFolder(options.dataDir ?? tmpdir());
  try {
    const dir = join(folder, 'cluster');
    await mkdir(dir);
    step(0);
    const environment = await captureEnvironment(folder);
    const busyCoreSpeed = await measureBusyCoreSpeed({ ms: sliceMs, tries: 2 * rounds });
    const timerLateUs = await measureTimerLateUs();
    step(1);
    const client = await measureClient(payloadBytes);
    const instance = await openInstance({ dir });
    const slices = { payloadBytes, ms: sliceMs, rounds };
    try {
      step(2);
      const sharded = await measureSharded(instance, { ...slices, onDone: (done) => step(2, done) });
      step(3);
      const unsharded = await measureUnsharded(instance, { ...slices, onDone: (done) => step(3, done) });
      step(4);
      const transferUs = await measureTransfer(instance, { dir, payloadBytes, ms: 2 * sliceMs });
      return hardwareFromMeasurements({
        environment,
        calibratedAtMs: now(),
        busyCoreSpeed,
        client,
        sharded,
        unsharded,
        transferUs,
        timerLateUs,
      });
    } finally {
      await instance.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** `done`: the share of the step that is done, 0 to 1. */
function tellProgress(tell: CalibrateOptions['onProgress'], index: number, done: number): void {
  const { what, part } = steps[index]!;
  const before = steps.slice(0, index).reduce((sum, step) => sum + step.part, 0);
  tell?.({ what, share: before + part * done });
}
