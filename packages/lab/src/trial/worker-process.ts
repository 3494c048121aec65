/** The coordinator's end of one instance process. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { LabError } from '../errors.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

const workerFile = fileURLToPath(new URL('./instance-worker.ts', import.meta.url));
/** What is kept of what a process said on its standard error. */
const stderrCharsMax = 4_000;

type Kind = FromWorker['type'];
type Of<K extends Kind> = Extract<FromWorker, { type: K }>;

export class WorkerProcess {
  readonly instance: number;
  readonly #child: ChildProcess;
  readonly #onTick: (tick: Of<'tick'>) => void;
  readonly #received = new Map<Kind, FromWorker>();
  readonly #awaited = new Map<Kind, (message: FromWorker) => void>();
  readonly #failure = Promise.withResolvers<never>();
  readonly #exited = Promise.withResolvers<void>();
  #stderr = '';

  constructor(instance: number, onTick: (tick: Of<'tick'>) => void) {
    this.instance = instance;
    this.#onTick = onTick;
    // Without a listener yet, a failure in the first moments must not count as unhandled.
    this.#failure.promise.catch(() => {});
    this.#child = fork(workerFile, [], {
      execPath: process.execPath,
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrCharsMax);
    });
    this.#child.on('message', (message) => this.#receive(message as FromWorker));
    this.#child.on('error', (cause) => this.#fail(`could not be started: ${cause.message}`, {}, cause));
    this.#child.on('exit', (code, signal) => {
      this.#exited.resolve();
      this.#fail(signal === null ? `ended with code ${code} in the middle` : `was killed by ${signal}`, {});
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /** The message of a kind, which comes once; rejects with `WORKER_FAILED` if the process fails before. */
  receive<K extends Kind>(kind: K): Promise<Of<K>> {
    const known = this.#received.get(kind);
    const message = known
      ? Promise.resolve(known)
      : new Promise<FromWorker>((resolve) => this.#awaited.set(kind, resolve));
    return Promise.race([message, this.#failure.promise]) as Promise<Of<K>>;
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

  #receive(message: FromWorker): void {
    if (message.type === 'tick') {
      this.#onTick(message);
    } else if (message.type === 'failed') {
      const { code, message: sentence, details, stack } = message;
      this.#fail(`failed: ${sentence}`, { cause: { code, message: sentence, details, stack } });
    } else {
      this.#received.set(message.type, message);
      this.#awaited.get(message.type)?.(message);
    }
  }

  #fail(what: string, details: Record<string, unknown>, cause?: unknown): void {
    this.#failure.reject(
      new LabError('WORKER_FAILED', {
        sentence: `The process of instance ${this.instance} ${what}`,
        details: {
          instance: this.instance,
          ...details,
          ...(this.#stderr === '' ? {} : { stderr: this.#stderr }),
        },
        ...(cause === undefined ? {} : { cause }),
      }),
    );
  }
}
