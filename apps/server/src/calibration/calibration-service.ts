/**
 * Measures the costs of the engine's work on this machine, one calibration at a time, in a process of its own. The result is
 * a hardware file in the data folder, and stays there until another calibration has succeeded.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Calibration, CalibrationAnswer, Hardware, StartCalibration } from '@shardlab/contract';
import {
  type CalibrationProgress,
  calibrateInProcess,
  calibrationMs,
  hardwareText,
  LabError,
  parseHardware,
} from '@shardlab/lab';
import { ServerError } from '../errors.ts';
import { mapError } from '../http/map-error.ts';
import type { HidePaths } from '../http/private-paths.ts';

export interface CalibrationServiceOptions {
  /** Path of the hardware file. */
  path: string;
  /** Folder for scratch data. */
  scratchDir: string;
  hidePaths: HidePaths;
  now: () => number;
  /** Receives the reason why a calibration failed. */
  onFault: (error: unknown) => void;
}

export class CalibrationService {
  readonly #options: CalibrationServiceOptions;
  #latest: Omit<Calibration, 'etaMs'> | null = null;
  #active: { abort: AbortController; ended: Promise<void> } | undefined;
  #expectedMs = calibrationMs;
  #closing = false;

  constructor(options: CalibrationServiceOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#active !== undefined;
  }

  /** Throws `CALIBRATION_RUNNING`, `SERVER_CLOSING`. */
  start(options: StartCalibration): void {
    if (this.#closing) throw new ServerError('SERVER_CLOSING');
    if (this.#active !== undefined) throw new ServerError('CALIBRATION_RUNNING');
    this.#latest = {
      state: 'running',
      startedAtMs: this.#options.now(),
      endedAtMs: null,
      what: 'the machine',
      share: 0,
      error: null,
    };
    const abort = new AbortController();
    const ended = this.#execute(options, abort.signal).finally(() => {
      this.#active = undefined;
    });
    this.#active = { abort, ended };
  }

  /** Ends the calibration under way, if there is one; resolves when its process has ended. The costs of an earlier one stay. */
  async cancel(): Promise<void> {
    this.#active?.abort.abort();
    await this.#active?.ended;
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.cancel();
  }

  answer(): CalibrationAnswer {
    const latest = this.#latest;
    const calibration = latest === null ? null : { ...latest, etaMs: this.#etaMs(latest) };
    return { calibration, expectedMs: this.#expectedMs };
  }

  /** The costs of this machine; null before its first calibration. Rejects with `HARDWARE_INVALID` if the file was changed. */
  async hardware(): Promise<Hardware | null> {
    try {
      return parseHardware(await readFile(this.#options.path, 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  async #execute(options: StartCalibration, signal: AbortSignal): Promise<void> {
    const { path, scratchDir, now, hidePaths, onFault } = this.#options;
    try {
      const hardware = await calibrateInProcess({
        ...options,
        dataDir: scratchDir,
        signal,
        onProgress: (progress) => this.#progress(progress),
      });
      const written = `${path}.new`;
      await writeFile(written, hardwareText(hardware), { mode: 0o600 });
      await rename(written, path);
      this.#end({ state: 'done', share: 1 });
      this.#expectedMs = now() - this.#latest!.startedAtMs;
    } catch (error) {
      if (signal.aborted) return this.#end({ state: 'cancelled' });
      onFault(error);
      const { code, message, retryable } = mapError(error).body;
      this.#end({ state: 'failed', error: hidePaths({ code, message, retryable }) });
    }
  }

  #progress({ what, share }: CalibrationProgress): void {
    this.#latest = { ...this.#latest!, what, share };
  }

  #end(change: Partial<Calibration>): void {
    this.#latest = { ...this.#latest!, ...change, endedAtMs: this.#options.now() };
  }

  /** Blends the expected duration with the one extrapolated from the progress so far, weighted by the share that is done. */
  #etaMs({ state, startedAtMs, share }: Omit<Calibration, 'etaMs'>): number | null {
    if (state !== 'running') return null;
    const elapsedMs = Math.max(0, this.#options.now() - startedAtMs);
    const byItself = share === 0 ? this.#expectedMs : elapsedMs / share;
    const totalMs = share * byItself + (1 - share) * this.#expectedMs;
    return Math.round(Math.max(0, (1 - share) * totalMs));
  }
}

/** Whether the error means that a hardware file cannot be used; other errors have other causes. */
export const isHardwareFault = (error: unknown): error is LabError =>
  error instanceof LabError && error.code === 'HARDWARE_INVALID';
