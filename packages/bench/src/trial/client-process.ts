/** The bench's end of a client process. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FromClient, ToClient } from './job.ts';

const clientFile = fileURLToPath(new URL('./client.ts', import.meta.url));
const stderrCharsMax = 2_000;

export class ClientProcess {
  readonly #child: ChildProcess;
  readonly #received = new Map<FromClient['type'], FromClient>();
  readonly #awaited = new Map<FromClient['type'], (message: FromClient) => void>();
  readonly #failure = Promise.withResolvers<never>();
  readonly #exited = Promise.withResolvers<void>();
  #stderr = '';

  constructor() {
    // Nobody may wait for it yet.
    this.#failure.promise.catch(() => {});
    this.#child = fork(clientFile, [], {
      execPath: process.execPath,
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrCharsMax);
    });
    this.#child.on('error', (error) => this.#fail(error.message));
    this.#child.on('exit', (code, signal) => {
      this.#exited.resolve();
      this.#fail(`the client process ended with ${signal ?? `code ${String(code)}`}`);
    });
    this.#child.on('message', (message: FromClient) => {
      if (message.type === 'failed') this.#fail(message.message);
      this.#received.set(message.type, message);
      this.#awaited.get(message.type)?.(message);
    });
  }

  send(message: ToClient): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /** The message of a kind, which comes once; rejects if the process fails before. */
  receive<T extends FromClient['type']>(type: T): Promise<Extract<FromClient, { type: T }>> {
    const known = this.#received.get(type);
    const message =
      known !== undefined
        ? Promise.resolve(known)
        : new Promise<FromClient>((resolve) => this.#awaited.set(type, resolve));
    return Promise.race([message, this.#failure.promise]) as Promise<Extract<FromClient, { type: T }>>;
  }

  /** Lets go of the process, which then ends by itself. */
  async letGo(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited.promise;
  }

  /** Kills the process if it still runs; resolves when it is gone. */
  async kill(): Promise<void> {
    if (this.#child.pid === undefined) return;
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.#exited.promise;
  }

  #fail(what: string): void {
    const said = this.#stderr.trim();
    this.#failure.reject(new Error(said === '' ? what : `${what}\n${said}`));
  }
}
