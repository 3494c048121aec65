/**
 * Calibrates in a process of its own, for a host that has other work: a calibration counts the CPU time of its whole
 * process, and keeps the thread busy for seconds.
 */
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { HardwareFile } from '@shardlab/model';
import type { LabError } from '../errors/errors.ts';
import { ChildChannel, workerFailed } from '../trial/child-channel.ts';
import { makeScratchFolder } from '../trial/scratch-folder.ts';
import type { CalibrateOptions, CalibrationProgress } from './calibrate.ts';

const processFile = fileURLToPath(new URL('./calibration-process.ts', import.meta.url));

export interface CalibrateInProcessOptions
  extends Pick<CalibrateOptions, 'sliceMs' | 'rounds' | 'onProgress'> {
  /** Folder for scratch data; created if missing. */
  dataDir: string;
  /** Ends the process at once. */
  signal?: AbortSignal;
}

/** The first message to the process. */
export type CalibrationOrder = Pick<CalibrateOptions, 'dataDir' | 'sliceMs' | 'rounds'>;

export type CalibrationReport =
  | { type: 'progress'; progress: CalibrationProgress }
  | { type: 'done'; hardware: HardwareFile }
  | { type: 'failed'; message: string; stack: string | undefined };

class CalibrationProcess extends ChildChannel<CalibrationReport, CalibrationOrder> {
  readonly #onProgress: (progress: CalibrationProgress) => void;

  constructor(onProgress: (progress: CalibrationProgress) => void) {
    super(processFile);
    this.#onProgress = onProgress;
  }

  protected handles(message: CalibrationReport): boolean {
    if (message.type === 'progress') this.#onProgress(message.progress);
    else if (message.type === 'failed') this.fail(`failed: ${message.message}`, { stack: message.stack });
    else return false;
    return true;
  }

  protected errorOf(what: string, stderr: string, cause: unknown): LabError {
    return workerFailed('The calibration', { what, stderr, cause });
  }
}

/**
 * The same as `calibrate`. Rejects with `DATA_FOLDER_UNUSABLE`, with `WORKER_FAILED` if the process fails, and with the reason of
 * `signal` once that is aborted. The process has ended and its files are removed when this settles.
 */
export async function calibrateInProcess(options: CalibrateInProcessOptions): Promise<HardwareFile> {
  const { dataDir, signal, onProgress = () => {}, ...given } = options;
  signal?.throwIfAborted();
  const folder = await makeScratchFolder(dataDir);
  try {
    signal?.throwIfAborted();
    const child = new CalibrationProcess(onProgress);
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal!.reason);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      child.send({ dataDir: folder, ...given });
      const { hardware } = await Promise.race([child.receive('done'), aborted.promise]);
      return hardware;
    } finally {
      signal?.removeEventListener('abort', abort);
      await child.kill();
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
