/** The process of an instance as the supervisor of the cluster sees it; one object for each time that it is started. */
import { type ChildProcess, fork } from 'node:child_process';
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { ClusterEvent } from '../cluster-events.ts';
import type { ProcessStats } from './cluster.ts';
import type { FromProcess, ProcessOptions, ToProcess } from './process-messages.ts';

export interface ChildOptions {
  options: ProcessOptions;
  execArgv: string[];
  onEvent(event: ClusterEvent): void;
  onEnded(end: { exitCode: number | null; signal: string | null }): void;
}

export class InstanceChild {
  readonly instance: number;
  /** Resolves when the process hosts its instance and serves it. Rejects with what kept it from that. */
  readonly opened: Promise<void>;
  /** Resolves when the process is gone. */
  readonly ended: Promise<void>;
  readonly #process: ChildProcess;
  #state: 'starting' | 'running' | 'ending' = 'starting';
  #paused = false;
  #failure: QueueError | undefined;
  #lastRequest = 0;
  readonly #asked = new Map<number, (stats: ProcessStats) => void>();
  readonly #retired = Promise.withResolvers<void>();

  constructor({ options, execArgv, onEvent, onEnded }: ChildOptions) {
    this.instance = options.instance;
    // `.ts` in the repository, `.js` in the published package.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
    this.#process = fork(new URL(`./instance-process${extension}`, import.meta.url), [], {
      execArgv,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const opened = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    this.opened = opened.promise;
    this.ended = ended.promise;
    this.opened.catch(() => undefined); // whoever started it may not be waiting any more
    this.#process.on('message', (message: FromProcess) => {
      if (message.type === 'event') onEvent(message.event);
      else if (message.type === 'opened') {
        if (this.#state === 'starting') this.#state = 'running';
        opened.resolve();
      } else if (message.type === 'failed') this.#failure = toError(message);
      else if (message.type === 'retired') this.#retired.resolve();
      else this.#asked.get(message.request)?.(message.stats);
    });
    const gone = (exitCode: number | null, signal: string | null) => {
      opened.reject(
        this.#failure ?? new QueueError('PROCESS_NOT_RUNNING', { details: { exitCode, signal } }),
      );
      this.#retired.resolve();
      onEnded({ exitCode, signal });
      ended.resolve();
    };
    this.#process.once('error', (cause) => {
      this.#failure ??= new QueueError('PROCESS_NOT_RUNNING', { cause });
      if (this.#process.pid === undefined) gone(null, null); // it never started, so it does not exit either
    });
    this.#process.once('exit', gone);
    this.#send({ type: 'open', options });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get state(): 'starting' | 'running' | 'paused' | 'ending' {
    return this.#paused ? 'paused' : this.#state;
  }

  watch(): void {
    this.#send({ type: 'watch' });
  }

  signal(signal: NodeJS.Signals): void {
    if (signal === 'SIGSTOP') this.#paused = true;
    else if (signal === 'SIGCONT') this.#paused = false;
    this.#process.kill(signal);
  }

  /** Resolves once the process takes nothing over any more, or is gone. */
  retire(): Promise<void> {
    this.signal('SIGCONT');
    this.#send({ type: 'retire' });
    return this.#retired.promise;
  }

  /** Ends the process in order; by force if that takes too long. */
  async close(): Promise<void> {
    this.#state = 'ending';
    this.signal('SIGCONT');
    this.#send({ type: 'close' });
    const impatience = setTimeout(() => this.#process.kill('SIGKILL'), limits.processCloseMsMax);
    await this.ended;
    clearTimeout(impatience);
  }

  /** Undefined if the process does not answer in time. */
  stats(): Promise<ProcessStats | undefined> {
    if (this.#state === 'starting' || !this.#process.connected) return Promise.resolve(undefined);
    this.#lastRequest += 1;
    const request = this.#lastRequest;
    return new Promise((resolve) => {
      const settle = (stats: ProcessStats | undefined) => {
        clearTimeout(impatience);
        this.#asked.delete(request);
        resolve(stats);
      };
      const impatience = setTimeout(() => settle(undefined), limits.processStatsMsMax);
      this.#asked.set(request, settle);
      this.#send({ type: 'stats', request });
    });
  }

  #send(message: ToProcess): void {
    // A process that is gone needs no word; its end is told by 'exit'.
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }
}

function toError({ code, message, details }: Extract<FromProcess, { type: 'failed' }>): QueueError {
  return new QueueError(code, { sentence: message, details });
}
