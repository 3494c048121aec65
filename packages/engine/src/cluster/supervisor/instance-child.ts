/** The process of an instance, as its supervisor sees it. Each start of the process is a new object. */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { InstanceId, Pid, RequestNumber } from '../../model/ids.ts';
import type { Timers } from '../../model/ports.ts';
import { programFile } from '../../program-files.ts';
import type { ProcessStats } from '../cluster.ts';
import type { ClusterEvent } from '../cluster-events.ts';
import type { ClusterPorts, ForkedProcess } from '../processes.ts';
import type {
  InstanceProcessMessage,
  InstanceProcessOptions,
  SupervisorMessage,
} from './process-messages.ts';

export interface InstanceChildOptions {
  options: InstanceProcessOptions;
  execArgv: string[];
  ports: ClusterPorts;
  onEvent(event: ClusterEvent): void;
  onOpened(): void;
  onEnded(end: ProcessEnd): void;
}

/** How a process ended. */
export interface ProcessEnd {
  exitCode: number | null;
  signal: string | null;
  /** The reason, if the process could report one or could not be started at all. */
  failure: QueueError | undefined;
}

export class InstanceChild {
  readonly instance: InstanceId;
  /** Resolves when the process serves its instance. Rejects with the reason why it does not. */
  readonly opened: Promise<void>;
  /** Resolves when the process is gone. */
  readonly ended: Promise<void>;
  readonly #process: ForkedProcess;
  readonly #timers: Timers;
  #isOpen = false;
  #failure: QueueError | undefined;
  #lastRequest: RequestNumber = 0;
  readonly #pendingStats = new Map<RequestNumber, (stats: ProcessStats) => void>();
  readonly #failoverStopped = Promise.withResolvers<void>();

  constructor({ options, execArgv, ports, onEvent, onOpened, onEnded }: InstanceChildOptions) {
    this.instance = options.instance;
    this.#process = ports.processes.fork(programFile('instance-process'), { execArgv });
    this.#timers = ports.timers;
    const opened = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    this.opened = opened.promise;
    this.ended = ended.promise;
    this.opened.catch(() => undefined); // there may be no caller left that handles the rejection
    this.#process.on('message', (message: InstanceProcessMessage) => {
      if (message.type === 'event') onEvent(message.event);
      else if (message.type === 'opened') {
        this.#isOpen = true;
        onOpened();
        opened.resolve();
      } else if (message.type === 'failed') this.#failure = toError(message);
      else if (message.type === 'failover-stopped') this.#failoverStopped.resolve();
      else this.#pendingStats.get(message.request)?.(message.stats);
    });
    const gone = (exitCode: number | null, signal: string | null) => {
      opened.reject(
        this.#failure ?? new QueueError('PROCESS_NOT_RUNNING', { details: { exitCode, signal } }),
      );
      this.#failoverStopped.resolve();
      onEnded({ exitCode, signal, failure: this.#failure });
      ended.resolve();
    };
    this.#process.once('error', (cause) => {
      this.#failure ??= new QueueError('PROCESS_NOT_RUNNING', { cause });
      if (this.#process.pid === undefined) gone(null, null); // a process that never started emits no exit
    });
    this.#process.once('exit', gone);
    this.#send({ type: 'open', options });
  }

  get pid(): Pid {
    return this.#process.pid ?? 0;
  }

  startFailover(): void {
    this.#send({ type: 'start-failover' });
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Resolves once the process has stopped taking over instances, or is gone. */
  stopFailover(): Promise<void> {
    this.signal('SIGCONT');
    this.#send({ type: 'stop-failover' });
    return this.#failoverStopped.promise;
  }

  /** Ends the process in order; kills it if that takes longer than `processCloseMsMax`. */
  async close(): Promise<void> {
    this.signal('SIGCONT');
    this.#send({ type: 'close' });
    const killTimer = this.#timers.deadline(limits.processCloseMsMax, () => this.#process.kill('SIGKILL'));
    await this.ended;
    killTimer.cancel();
  }

  /** Resolves with undefined if the process does not answer within `processStatsMsMax`. */
  stats(): Promise<ProcessStats | undefined> {
    if (!this.#isOpen || !this.#process.connected) return Promise.resolve(undefined);
    this.#lastRequest += 1;
    const request = this.#lastRequest;
    return new Promise((resolve) => {
      const answer = (stats: ProcessStats | undefined) => {
        timeout.cancel();
        this.#pendingStats.delete(request);
        resolve(stats);
      };
      const timeout = this.#timers.deadline(limits.processStatsMsMax, () => answer(undefined));
      this.#pendingStats.set(request, answer);
      this.#send({ type: 'stats', request });
    });
  }

  #send(message: SupervisorMessage): void {
    // The end of a process is reported by 'exit'.
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }
}

function toError({
  code,
  message,
  details,
}: Extract<InstanceProcessMessage, { type: 'failed' }>): QueueError {
  return new QueueError(code, { message, details });
}
