/** One process from its start to its end: its notes as they come, and the kill. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Kill } from './kills.ts';
import { notesPipe, parseNote, type TimedNote } from './notes.ts';
import type { WorkerTask } from './task.ts';

const worker = fileURLToPath(new URL('./worker.ts', import.meta.url));
/** A process that has not come to its point after so long hangs. */
const hungMs = 60_000;

export class Life {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #lines: string[] = [];
  /** When it was seen to have ended, on the clock of the notes. */
  endedAtNs: bigint | undefined;
  #rest = '';
  readonly #moments = { opening: Promise.withResolvers<void>(), working: Promise.withResolvers<void>() };

  constructor(task: WorkerTask) {
    this.#child = spawn(process.execPath, [worker, JSON.stringify(task)], {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    });
    const pipe = this.#child.stdio[notesPipe] as Readable;
    pipe.setEncoding('utf8');
    pipe.on('data', (text: string) => this.#read(text));
    this.#child.once('exit', () => {
      this.endedAtNs = process.hrtime.bigint();
    });
    // What it wrote before it died is still in the pipe.
    this.#ended = Promise.all([once(this.#child, 'exit'), once(pipe, 'close')]);
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) {
      this.#lines.push(line);
      const mark = line[line.indexOf(' ') + 1];
      if (mark === 'o') this.#moments.opening.resolve();
      if (mark === 'w') this.#moments.working.resolve();
    }
  }

  /** Resolves with true when it is at work, with false when it has ended, or hangs. */
  async untilWorking(): Promise<boolean> {
    const hung = pause(hungMs, false, { ref: false });
    const working = this.#moments.working.promise.then(() => true);
    return Promise.race([working, this.#ended.then(() => false), hung]);
  }

  /** Resolves with whether it was killed as it should be; false: it ended by itself, or came to no end. */
  async endBy({ from, closing = false }: Kill, afterMs: number): Promise<boolean> {
    const hung = pause(hungMs, 'hung' as const, { ref: false });
    if (from !== undefined) {
      if (from !== 'start') await Promise.race([this.#moments[from].promise, this.#ended, hung]);
      if (closing) this.#child.kill('SIGTERM');
      await pause(afterMs);
      this.#child.kill('SIGKILL');
    }
    const outcome = await Promise.race([this.#ended, hung]);
    if (outcome === 'hung') await this.kill();
    return outcome !== 'hung' && this.#child.signalCode === 'SIGKILL';
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Whether it failed by itself rather than being killed or having closed as it was asked. */
  get failed(): boolean {
    const { exitCode, signalCode } = this.#child;
    const hasEnded = exitCode !== null || signalCode !== null;
    return hasEnded && signalCode !== 'SIGKILL' && exitCode !== 0;
  }

  /** All of them once it has ended. A line that was cut off tells nothing: what it was to tell had not happened. */
  notes(): TimedNote[] {
    return this.#lines.map(parseNote);
  }
}
