/** Ends a trial before its result: by the signal of the run, or by a time limit if something hangs. */
import { LabError } from '../errors/errors.ts';

export class TrialLimit {
  readonly #failure = Promise.withResolvers<never>();
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = () => this.#failure.reject(this.#signal!.reason);

  constructor(limitMs: number, signal: AbortSignal | undefined) {
    this.#signal = signal;
    // It may reject before anything awaits it, while the folder is being created.
    this.#failure.promise.catch(() => {});
    this.#timer = setTimeout(() => this.#failure.reject(hung(limitMs)), limitMs);
    if (signal?.aborted) this.#onAbort();
    else signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Never resolves; rejects with `WORKER_FAILED` or the signal's reason. */
  get reached(): Promise<never> {
    return this.#failure.promise;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}

function hung(limitMs: number): LabError {
  return new LabError('WORKER_FAILED', {
    message: `The trial did not end within ${Math.round(limitMs / 1000)} s; its processes were killed`,
    details: { limitMs },
  });
}
