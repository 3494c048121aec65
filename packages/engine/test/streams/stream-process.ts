/** Starts a process that streams payloads, makes one call after the other in it, and kills it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { StreamCall } from './stream-worker.ts';

const worker = fileURLToPath(new URL('./stream-worker.ts', import.meta.url));

export class StreamProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  constructor() {
    this.#child = spawn(process.execPath, ['--expose-gc', worker], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#ended = once(this.#child, 'exit').then(([code, signal]) => {
      throw new Error(`The process ended with ${code ?? signal}`);
    });
    this.#ended.catch(() => undefined); // The process may end while no call waits.
    onTestFinished(() => this.kill());
  }

  async ask<T>(call: StreamCall): Promise<T> {
    const answer = once(this.#child, 'message') as Promise<[{ value: T }]>;
    this.#child.send(call);
    return (await Promise.race([answer, this.#ended]))[0].value;
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await this.#ended.catch(() => undefined);
  }
}
