/**
 * The process of one instance over all its starts: started and stopped on request, and restarted after an unrequested exit.
 * Applies every command through `processLife`.
 */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { InstanceId, Pid } from '../../model/ids.ts';
import type { Timer } from '../../model/ports.ts';
import { type ProcessCommand, type ProcessState, processLife } from '../../model/process-life.ts';
import { RestartPolicy } from '../../model/restart-policy.ts';
import type { InstanceTopology, ProcessRestart, ProcessStats } from '../cluster.ts';
import type { ClusterEvent } from '../cluster-events.ts';
import type { ClusterPorts } from '../processes.ts';
import { InstanceChild, type ProcessEnd } from './instance-child.ts';
import type { InstanceProcessOptions } from './process-messages.ts';

export interface SupervisedProcessOptions {
  options: Omit<InstanceProcessOptions, 'joins'>;
  execArgv: string[];
  ports: ClusterPorts;
  /** Whether processes that end unasked are started again. */
  restarts: boolean;
  /** Whether a process hosts the instance at the moment: then its own process is tried again without end. */
  isServed(instance: InstanceId): boolean;
  onEvent(event: ClusterEvent): void;
  onOpened(supervised: SupervisedProcess): void;
  /** The process is gone. */
  onEnded(): void;
  onGivenUp(error: QueueError): void;
}

const topologyStates: Partial<Record<ProcessState, NonNullable<InstanceTopology['process']>['state']>> = {
  starting: 'starting',
  running: 'running',
  paused: 'paused',
  stopping: 'ending',
  killing: 'ending',
};

export class SupervisedProcess {
  readonly instance: InstanceId;
  readonly #options: SupervisedProcessOptions;
  readonly #policy = new RestartPolicy({
    healthyMs: limits.restartHealthyMs,
    pauseMsMin: limits.restartPauseMsMin,
    failedStartPauseMsMax: limits.restartFailedPauseMsMax,
    shortRunPauseMsMax: limits.restartShortRunPauseMsMax,
    failedStartsMax: limits.restartFailedStartsMax,
    shortRunsMax: limits.restartShortRunsMax,
  });
  #state: ProcessState = 'stopped';
  #child: InstanceChild | undefined;
  /** When the process began to serve, monotonic ms. */
  #openedAtMs: number | undefined;
  /** Why the last process ended; undefined once another one serves. */
  #failure: QueueError | undefined;
  /** The error with which the process itself reported the end of its instance. */
  #reported: QueueError | undefined;
  /** The longest time without a known turn of the event loop since it has been slow; 0 while it is responsive, ms. */
  #unresponsiveMs = 0;
  #restartTimer: Timer | undefined;
  #restartAtMs = 0;

  constructor(options: SupervisedProcessOptions) {
    this.instance = options.options.instance;
    this.#options = options;
  }

  get state(): ProcessState {
    return this.#state;
  }

  /** Undefined if there is no process. */
  get pid(): Pid | undefined {
    return this.#child?.pid;
  }

  get process(): InstanceTopology['process'] {
    const state = topologyStates[this.#state];
    return this.#child === undefined || state === undefined ? null : { pid: this.#child.pid, state };
  }

  get restart(): ProcessRestart | null {
    const inMs = this.#restartInMs;
    if (this.#failure === undefined || inMs === undefined) return null;
    const { code, message } = this.#failure;
    return { attempts: this.#policy.attempts, inMs, code, message };
  }

  get #restartInMs(): number | null | undefined {
    switch (this.#state) {
      case 'backingOff':
        return Math.max(0, this.#restartAtMs - this.#options.ports.clock.monotonicMs());
      case 'starting':
        return 0;
      case 'givenUp':
        return null;
      default:
        return undefined;
    }
  }

  /** Resolves when the process serves; rejects with the reason why it does not. Throws `PROCESS_RUNNING`. */
  start({ joins }: { joins: boolean }): Promise<void> {
    const { instance } = this;
    if (!this.#isLegal('start')) throw new QueueError('PROCESS_RUNNING', { details: { instance } });
    this.#policy.reset();
    this.#restartTimer?.cancel();
    return this.#launch('start', joins);
  }

  /** Starts a process that was killed as asked, since no other one is left to host its instance. */
  revive(): void {
    this.#launch('restart').catch(() => undefined); // its end is handled like any other
  }

  #launch(command: 'start' | 'restart', joins = false): Promise<void> {
    this.#apply(command);
    this.#openedAtMs = undefined;
    this.#reported = undefined;
    this.#unresponsiveMs = 0;
    const { options, execArgv, ports, onEvent, onOpened } = this.#options;
    const child = new InstanceChild({
      options: { ...options, joins },
      execArgv,
      ports,
      onEvent: (event) => {
        this.#noteFailure(event);
        onEvent(event);
      },
      onOpened: () => {
        if (this.#state !== 'starting') return; // asked to end meanwhile
        this.#apply('open');
        this.#openedAtMs = ports.clock.monotonicMs();
        this.#failure = undefined;
        onOpened(this);
      },
      onEnded: (end) => this.#onEnded(child, end),
    });
    this.#child = child;
    this.#emit('process:started', { pid: child.pid });
    return child.opened;
  }

  /** The process ends when its own instance fails; its exit code says less than the instance did. */
  #noteFailure({ type, instance, code, message }: ClusterEvent): void {
    if (instance !== this.instance || (type !== 'instance:failed' && type !== 'instance:fenced')) return;
    const known = code === 'INSTANCE_FENCED' ? 'INSTANCE_FENCED' : 'INSTANCE_FAILED';
    this.#reported = new QueueError(known, message === undefined ? {} : { message });
  }

  #onEnded(child: InstanceChild, { exitCode, signal, failure }: ProcessEnd): void {
    this.#child = undefined;
    this.#apply('end');
    this.#emit('process:ended', {
      pid: child.pid,
      ...(exitCode !== null && { exitCode }),
      ...(signal !== null && { signal }),
    });
    if (this.#state === 'backingOff')
      this.#backOff(failure ?? this.#reported ?? endedError(exitCode, signal));
    this.#options.onEnded();
  }

  #backOff(failure: QueueError): void {
    const { restarts, ports } = this.#options;
    if (!restarts) {
      this.#apply('stop');
      return;
    }
    this.#failure = failure;
    const nowMs = ports.clock.monotonicMs();
    this.#policy.countEnd(this.#openedAtMs === undefined ? undefined : nowMs - this.#openedAtMs);
    const { pauseMs, attempts } = this.#policy;
    this.#restartAtMs = nowMs + pauseMs;
    const { code, message } = failure;
    this.#emit('process:restarting', { attempts, inMs: pauseMs, code, message });
    this.#restartTimer = ports.timers.deadline(pauseMs, () => this.#restartOrGiveUp(failure));
  }

  #restartOrGiveUp(cause: QueueError): void {
    const { isServed, onGivenUp } = this.#options;
    const { instance } = this;
    if (!this.#policy.isExhausted || isServed(instance)) {
      this.revive();
      return;
    }
    this.#apply('giveUp');
    const { attempts } = this.#policy;
    const error = new QueueError('PROCESS_RESTARTS_EXHAUSTED', {
      message: `Instance ${instance} has no process: ${attempts} in a row did not last. The last one: ${cause.message}`,
      details: { instance, attempts, cause: cause.code },
      cause,
    });
    this.#emit('process:given-up', { attempts, code: cause.code, message: cause.message });
    onGivenUp(error);
  }

  kill(): void {
    this.#signal('kill', 'SIGKILL');
  }

  pause(): void {
    this.#signal('pause', 'SIGSTOP');
    this.#emit('process:paused');
  }

  resume(): void {
    this.#signal('resume', 'SIGCONT');
    this.#emit('process:resumed');
  }

  #signal(command: ProcessCommand, signal: NodeJS.Signals): void {
    if (this.#child === undefined || !this.#isLegal(command)) throw this.#notRunning();
    this.#apply(command);
    this.#child.signal(signal);
  }

  /** Reports the beginning and the end of a time in which the process is slow. `unresponsiveMs`: 0 if it is responsive. */
  noteUnresponsive(unresponsiveMs: number): void {
    if (this.#state !== 'running') return; // one that starts serves nobody yet
    const before = this.#unresponsiveMs;
    this.#unresponsiveMs = unresponsiveMs === 0 ? 0 : Math.max(before, unresponsiveMs);
    if (before === 0 && unresponsiveMs > 0) {
      const { code, message } = new QueueError('PROCESS_SLOW');
      this.#emit('process:slow', { tookMs: unresponsiveMs, code, message });
    } else if (before > 0 && unresponsiveMs === 0) this.#emit('process:responsive', { tookMs: before });
  }

  /** Kills a process that hangs. This counts as an unrequested exit, so the process is restarted. */
  killHung(error: QueueError): void {
    const { code, message } = error;
    this.#reported = error;
    this.#emit('process:hung', { code, message });
    this.#child?.signal('SIGKILL');
  }

  /** Ends the process in order, or the restart of one. Throws `PROCESS_NOT_RUNNING`. */
  async stop(): Promise<void> {
    if (!this.#isLegal('stop')) throw this.#notRunning();
    await this.end();
  }

  /** The same, where it does not matter whether there is a process. */
  async end(): Promise<void> {
    this.#restartTimer?.cancel();
    if (this.#isLegal('stop')) this.#apply('stop');
    await this.#child?.close();
  }

  startFailover(): void {
    this.#child?.startFailover();
  }

  async stopFailover(): Promise<void> {
    await this.#child?.stopFailover();
  }

  async stats(): Promise<ProcessStats | undefined> {
    return this.#child?.stats();
  }

  #isLegal(command: ProcessCommand): boolean {
    return processLife.find(this.#state, command) !== undefined;
  }

  #apply(command: ProcessCommand): void {
    this.#state = processLife.next(this.#state, command);
  }

  #notRunning(): QueueError {
    return new QueueError('PROCESS_NOT_RUNNING', { details: { instance: this.instance } });
  }

  #emit(type: ClusterEvent['type'], fields: Partial<ClusterEvent> = {}): void {
    const { clock, processes } = this.#options.ports;
    const pid = this.#child?.pid ?? processes.self.pid;
    this.#options.onEvent({ type, atMs: clock.epochMs(), instance: this.instance, pid, ...fields });
  }
}

function endedError(exitCode: number | null, signal: string | null): QueueError {
  const how = signal === null ? `exited with code ${exitCode}` : `was ended by ${signal}`;
  return new QueueError('PROCESS_NOT_RUNNING', {
    message: `The process ${how}`,
    details: { exitCode, signal },
  });
}
