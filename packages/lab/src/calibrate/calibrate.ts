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
import { makeScratchFolder } from '../run/scratch-folder.ts';
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
  onProgress?: (what: string) => void;
}

/** Rejects with an error of the engine or with `DATA_FOLDER_UNUSABLE`; leaves no files behind. */
export async function calibrate(options: CalibrateOptions = {}): Promise<HardwareFile> {
  const { payloadBytes = 512, sliceMs = 80, rounds = 3, onProgress = () => undefined } = options;
  const folder = await makeScratchFolder(options.dataDir ?? tmpdir());
  try {
    const dir = join(folder, 'cluster');
    await mkdir(dir);
    onProgress('the machine');
    const environment = await captureEnvironment(folder);
    const busyCoreSpeed = await measureBusyCoreSpeed({ ms: sliceMs, tries: rounds });
    const timerLateUs = await measureTimerLateUs();
    onProgress('the load generator');
    const client = await measureClient(payloadBytes);
    const instance = await openInstance({ dir });
    const slices = { payloadBytes, ms: sliceMs, rounds };
    try {
      onProgress('a sharded queue');
      const sharded = await measureSharded(instance, slices);
      onProgress('an unsharded queue');
      const unsharded = await measureUnsharded(instance, slices);
      onProgress('two processes sharing one file');
      const transferUs = await measureTransfer(instance, { dir, payloadBytes, ms: 2 * sliceMs });
      return hardwareFromMeasurements({
        environment,
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
