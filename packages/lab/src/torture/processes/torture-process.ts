/** One child process from start to end: collects its history and kills it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { monotonicNs } from '@shardlab/history';
import { historyPipe, parseMoment } from './history-pipe.ts';
import type { Kill } from './kills.ts';
import type { WorkerTask } from './worker-task.ts';

const worker = fileURLToPath(new URL('../worker.ts', import.meta.url));
/** A process that has not reached its state after this time counts as hung. */
const hungMs = 60_000;

export class TortureProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  /**
   * Lines of its history, once the process has ended. A truncated last line is ignored: the operation that it announces did not
   * happen.
   */
  readonly historyLines: string[] = [];
  /** The unexpected error that ended it. */
  failureText: string | undefined;
  /** When its end was observed, on the clock of the history. */
  endedAtNs: number | undefined;
  #partialLine = '';
  readonly #moments = { opening: Promise.withResolvers<void>(), working: Promise.withResolvers<void>() };

  constructor(task: WorkerTask) {
    this.#child = spawn(process.execPath, [worker, JSON.stringify(task)], {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    });
    const pipe = this.#child.stdio[historyPipe] as Readable;
    pipe.setEncoding('utf8');
    pipe.on('data', (text: string) => this.#read(text));
    this.#child.once('exit', () => {
      this.endedAtNs = monotonicNs();
    });
    // Lines written before the process died may still be in the pipe.
    this.#ended = Promise.all([once(this.#child, 'exit'), once(pipe, 'close')]);
  }

  #read(text: string): void {
    const lines = (this.#partialLine + text).split('\n');
    this.#partialLine = lines.pop()!;
    for (const line of lines) {
      const moment = parseMoment(line);
      if (moment === undefined) this.historyLines.push(line);
      else if (moment.moment === 'failed') this.failureText = moment.text;
      else this.#moments[moment.moment].resolve();
    }
  }

  /** Resolves with true when the process is working, with false when it has ended or hangs. */
  async waitUntilWorking(): Promise<boolean> {
    const hung = pause(hungMs, false, { ref: false });
    const working = this.#moments.working.promise.then(() => true);
    return Promise.race([working, this.#ended.then(() => false), hung]);
  }

  /** Resolves with true if the process was killed as planned, with false if it ended otherwise or hung. */
  async endBy({ countedFrom, closing = false }: Kill, afterMs: number): Promise<boolean> {
    const hung = pause(hungMs, 'hung' as const, { ref: false });
    if (countedFrom !== undefined) {
      if (countedFrom !== 'start')
        await Promise.race([this.#moments[countedFrom].promise, this.#ended, hung]);
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

  /** Whether the process ended with an error, rather than being killed or closed on request. */
  get failed(): boolean {
    const { exitCode, signalCode } = this.#child;
    const hasEnded = exitCode !== null || signalCode !== null;
    return hasEnded && signalCode !== 'SIGKILL' && exitCode !== 0;
  }
}
