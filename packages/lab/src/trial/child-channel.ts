/** The parent's end of a child process: sends messages, receives each kind of reply once, and reports failures. */
import { type ChildProcess, fork } from 'node:child_process';
import { LabError } from '../errors/errors.ts';

/** How much of a process's standard error is kept, in characters. */
const stderrCharsMax = 4_000;

/** `WORKER_FAILED` with all that is known: `what` happened completes a sentence that begins with `process`. */
export function workerFailed(
  process: string,
  { what, stderr, cause }: { what: string; stderr: string; cause: unknown },
  details: Record<string, unknown> = {},
): LabError {
  const isError = cause instanceof Error;
  return new LabError('WORKER_FAILED', {
    message: `${process} ${what}`,
    details: { ...details, ...(stderr === '' ? {} : { stderr }), ...(isError || !cause ? {} : { cause }) },
    ...(isError ? { cause } : {}),
  });
}

/** How long a process that is to end may take. */
const endMsMax = 2_000;

export abstract class ChildChannel<From extends { type: string }, To extends object> {
  readonly #child: ChildProcess;
  readonly #received = new Map<From['type'], From>();
  readonly #awaited = new Map<From['type'], (message: From) => void>();
  readonly #failure = Promise.withResolvers<never>();
  readonly #exited = Promise.withResolvers<void>();
  #stderr = '';

  constructor(file: string) {
    // A failure before anything listens must not count as an unhandled rejection.
    this.#failure.promise.catch(() => {});
    this.#child = fork(file, [], {
      execPath: process.execPath,
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrCharsMax);
    });
    this.#child.on('message', (message: From) => {
      if (this.handles(message)) return;
      this.#received.set(message.type, message);
      this.#awaited.get(message.type)?.(message);
    });
    this.#child.on('error', (cause) => this.fail(`could not be started: ${cause.message}`, cause));
    this.#child.on('exit', (code, signal) => {
      this.#exited.resolve();
      this.fail(signal === null ? `ended unexpectedly with exit code ${code}` : `was killed by ${signal}`);
    });
  }

  /** Handles messages that are not awaited: kinds that occur more than once, and failures. Returns whether it did. */
  protected abstract handles(message: From): boolean;

  /** The error for all waiting calls. `what` completes a sentence that begins with the name of the process. */
  protected abstract errorOf(what: string, stderr: string, cause: unknown): Error;

  protected fail(what: string, cause?: unknown): void {
    this.#failure.reject(this.errorOf(what, this.#stderr.trim(), cause));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  send(message: To): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /** Resolves with the message of a kind that occurs once; rejects if the process fails before. */
  receive<K extends From['type']>(kind: K): Promise<Extract<From, { type: K }>> {
    const known = this.#received.get(kind);
    const message = known
      ? Promise.resolve(known)
      : new Promise<From>((resolve) => this.#awaited.set(kind, resolve));
    return Promise.race([message, this.#failure.promise]) as Promise<Extract<From, { type: K }>>;
  }

  /** Resolves when the process has ended by itself after sending its result. */
  async disconnect(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited.promise;
  }

  /** Has the process end by itself, which ends the servers that it started, and kills it if it does not. */
  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    if (this.#child.pid === undefined) return;
    const late = setTimeout(() => this.#child.kill('SIGKILL'), endMsMax);
    await this.#exited.promise;
    clearTimeout(late);
  }

  /** Kills the process if it is still running; resolves when it has ended. */
  async kill(): Promise<void> {
    if (this.#child.pid === undefined) return;
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.#exited.promise;
  }
}
