/** One end of a process that is told things and answers, each kind of answer once: its start, its end, and what it fails with. */
import { type ChildProcess, fork } from 'node:child_process';

/** What is kept of what a process said on its standard error. */
const stderrCharsMax = 4_000;

export abstract class ChildEnd<From extends { type: string }, To extends object> {
  readonly #child: ChildProcess;
  readonly #received = new Map<From['type'], From>();
  readonly #awaited = new Map<From['type'], (message: From) => void>();
  readonly #failure = Promise.withResolvers<never>();
  readonly #exited = Promise.withResolvers<void>();
  #stderr = '';

  constructor(file: string) {
    // Without a listener yet, a failure in the first moments must not count as unhandled.
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
      if (this.takes(message)) return;
      this.#received.set(message.type, message);
      this.#awaited.get(message.type)?.(message);
    });
    this.#child.on('error', (cause) => this.fail(`could not be started: ${cause.message}`, cause));
    this.#child.on('exit', (code, signal) => {
      this.#exited.resolve();
      this.fail(signal === null ? `ended with code ${code} in the middle` : `was killed by ${signal}`);
    });
  }

  /** Whether it deals with a message that nobody receives: of a kind that comes more than once, or a failure. */
  protected abstract takes(message: From): boolean;

  /** What those who wait are told; `what` goes on from the name of the process. */
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

  /** The message of a kind, which comes once; rejects if the process fails before. */
  receive<K extends From['type']>(kind: K): Promise<Extract<From, { type: K }>> {
    const known = this.#received.get(kind);
    const message = known
      ? Promise.resolve(known)
      : new Promise<From>((resolve) => this.#awaited.set(kind, resolve));
    return Promise.race([message, this.#failure.promise]) as Promise<Extract<From, { type: K }>>;
  }

  /** Lets the process end by itself once its result is here, and resolves when it has. */
  async letGo(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited.promise;
  }

  /** Kills the process if it still runs and resolves when it is gone. */
  async kill(): Promise<void> {
    if (this.#child.pid === undefined) return;
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.#exited.promise;
  }
}
