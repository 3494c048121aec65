/** Starts a process that hosts an instance under a fault, and makes one call after the other in it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { InstanceOptions, QueueInfo, QueueSpec, ServeOptions } from '../../src/index.ts';

export type FaultCall =
  | { do: 'open'; options: InstanceOptions }
  /** Serves the instance to clients and other instances. */
  | { do: 'serve'; options: ServeOptions }
  | { do: 'create'; spec: QueueSpec }
  | { do: 'put'; queue: string; payloads: string[] }
  | { do: 'take'; queue: string; max: number; waitMs?: number }
  | { do: 'info'; queue: string }
  | { do: 'list' }
  | { do: 'remove'; path: string }
  | { do: 'write'; path: string; bytes: number }
  | { do: 'check'; dir: string }
  | { do: 'close' };

export interface FaultError {
  code: string;
  message: string;
  retryable: boolean;
  details: Record<string, unknown>;
}

export type FaultAnswer = { value: unknown } | { error: FaultError };

const worker = fileURLToPath(new URL('./fault-worker.ts', import.meta.url));

export class FaultProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  /** `through` is a command that starts the process under some limit. It gets the command line as its last arguments. */
  constructor({ env = {}, through = [] }: { env?: Record<string, string>; through?: string[] } = {}) {
    const [command = '', ...args] = [...through, process.execPath, worker];
    this.#child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#ended = once(this.#child, 'exit').then(([code, signal]) => {
      throw new Error(`The process ended with ${code ?? signal}`);
    });
    this.#ended.catch(() => undefined); // The process may end while no call waits.
    onTestFinished(() => this.kill());
  }

  /** Rejects when the process has ended. */
  get ended(): Promise<never> {
    return this.#ended;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async #ask(call: FaultCall): Promise<FaultAnswer> {
    const answer = once(this.#child, 'message') as Promise<[FaultAnswer]>;
    // A failure of the pipe is ignored: if the process was killed, `#ended` rejects.
    this.#child.send(call, () => {});
    return (await Promise.race([answer, this.#ended]))[0];
  }

  async #value<T>(call: FaultCall): Promise<T> {
    const answer = await this.#ask(call);
    if ('error' in answer) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.value as T;
  }

  /** Makes a call that must fail; resolves with its typed error. */
  async refused(call: FaultCall): Promise<FaultError> {
    const answer = await this.#ask(call);
    if ('value' in answer)
      throw new Error(`${call.do} was not refused: ${JSON.stringify(answer.value).slice(0, 200)}`);
    return answer.error;
  }

  /** Unless asked the instance takes no samples: a test counts its writes, and a sample is one that may meet the fault first. */
  open(options: InstanceOptions) {
    return this.#value<null>({ do: 'open', options: { sampleIntervalMs: limits.sampleMsMax, ...options } });
  }

  serve(options: ServeOptions = {}) {
    return this.#value<null>({ do: 'serve', options });
  }

  create(spec: QueueSpec) {
    return this.#value<QueueInfo>({ do: 'create', spec });
  }

  put(queue: string, ...payloads: string[]) {
    return this.#value<string[]>({ do: 'put', queue, payloads });
  }

  take(queue: string, max: number, { waitMs = 0 } = {}) {
    return this.#value<string[]>({ do: 'take', queue, max, waitMs });
  }

  info(queue: string) {
    return this.#value<QueueInfo>({ do: 'info', queue });
  }

  /** Each queue with its number of ready messages, or with the code of its error. */
  list() {
    return this.#value<string[]>({ do: 'list' });
  }

  /** Writes a file in the process, whose file systems may be mounted for it alone. */
  writeFile(path: string, bytes: number) {
    return this.#value<null>({ do: 'write', path, bytes });
  }

  removeFile(path: string) {
    return this.#value<null>({ do: 'remove', path });
  }

  /** Checks a folder in the process; resolves to the faults. */
  check(dir: string) {
    return this.#value<string[]>({ do: 'check', dir });
  }

  close() {
    return this.#value<null>({ do: 'close' });
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await this.#ended.catch(() => undefined);
  }
}
