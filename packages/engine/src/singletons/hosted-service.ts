/**
 * One service in the process that hosts its instance:
 *
 *     inactive -> activating -> active -> deactivating -> inactive (stopped)
 *                     |           |                    -> failed -> activating …
 *                     +-----------+- it threw, took too long, or reported that it cannot continue
 *
 * An activation begins with a row in the instance's file. Nothing of the service runs before that is on disk, so a process that
 * could not write it is never active.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type {
  Json,
  ServiceContext,
  ServiceInfo,
  ServiceSession,
  ServiceSpec,
  ServiceStatus,
  SingletonService,
} from '../api/service.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { ServiceTenureRow } from '../model/service-rows.ts';
import { toJsonText } from '../model/validate-services.ts';
import { within } from '../model/within.ts';
import { CallQueue } from './call-queue.ts';
import type { ServiceInstance, ServiceState } from './service-instance.ts';

export interface HostedServiceOptions {
  spec: ServiceSpec;
  state: ServiceState;
  tenures: ServiceTenureRow[];
  of: ServiceInstance;
  load(spec: ServiceSpec): Promise<SingletonService>;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

interface Activation {
  readonly ending: AbortController;
  readonly calls: CallQueue;
  readonly tenure: ServiceTenureRow;
  /** The service's open sessions. */
  readonly sessions: Set<ServiceSession>;
  service: SingletonService;
  /** It was deactivated, or had its time for that. */
  isOver: boolean;
}

const deactivateBound = {
  msMax: limits.serviceDeactivateMsMax,
  late: () => new QueueError('SERVICE_FAILED', { message: 'The service was not deactivated in time' }),
};

export class HostedService {
  readonly #options: HostedServiceOptions;
  readonly #tenures: ServiceTenureRow[];
  #status: ServiceStatus = 'inactive';
  #activation: Activation | undefined;
  #failure: { code: string; message: string } | null = null;
  #retryMs: number = limits.serviceRetryMsMin;
  #retryTimer: Timer | undefined;
  /** The transition under way. */
  #transition: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: HostedServiceOptions) {
    this.#options = options;
    this.#tenures = [...options.tenures];
  }

  start(): void {
    if (this.#stopped || this.#status === 'activating') return;
    this.#status = 'activating';
    this.#transition = this.#transition.then(() => this.#activate());
  }

  /** Never rejects. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retryTimer?.cancel();
    this.#activation?.ending.abort();
    this.#transition = this.#transition.then(() => this.#deactivate('inactive'));
    await within(this.#options.ports.timers, deactivateBound, () => this.#transition).catch(() => undefined);
  }

  async #activate(): Promise<void> {
    const { spec, load, ports, of } = this.#options;
    if (this.#stopped) return;
    const ending = new AbortController();
    try {
      const service = await load(spec);
      const tenure = await this.#beginTenure();
      const calls = new CallQueue(ports.timers);
      const activation = {
        service,
        ending,
        calls,
        tenure,
        sessions: new Set<ServiceSession>(),
        isOver: false,
      };
      this.#activation = activation;
      of.assertServing();
      const late = () =>
        new QueueError('SERVICE_FAILED', {
          message: `The service was not activated within ${limits.serviceActivateMsMax} ms`,
        });
      await within(ports.timers, { msMax: limits.serviceActivateMsMax, late }, () =>
        service.activate(this.#context(activation)),
      );
      if (!ending.signal.aborted) this.#status = 'active';
    } catch (error) {
      ending.abort();
      this.#noteFailure(error);
      await this.#deactivate('failed');
    }
  }

  #context(activation: Activation): ServiceContext {
    const { spec, state, of, ports } = this.#options;
    const { signal } = activation.ending;
    return {
      name: spec.name,
      instance: of.instance,
      epoch: of.epoch,
      signal,
      get state() {
        return state.text === undefined ? undefined : (JSON.parse(state.text) as Json);
      },
      openSession: () => {
        if (activation.isOver) throw this.#notActive();
        return of.openSession(state, activation.sessions);
      },
      nowMs: () => ports.clock.epochMs(),
      pause: (ms) => pauseUnlessEnding(ports, ms, signal),
      fail: (error) => this.#onFailed(activation, error),
    };
  }

  #onFailed(activation: Activation, error: unknown): void {
    if (activation !== this.#activation || activation.ending.signal.aborted) return;
    activation.ending.abort();
    this.#noteFailure(error);
    this.#transition = this.#transition.then(() => this.#deactivate('failed'));
  }

  #noteFailure(error: unknown): void {
    const code = error instanceof QueueError ? error.code : 'SERVICE_FAILED';
    this.#failure = { code, message: error instanceof Error ? error.message : String(error) };
  }

  async #deactivate(next: 'inactive' | 'failed'): Promise<void> {
    const activation = this.#activation;
    this.#activation = undefined;
    if (activation !== undefined) {
      this.#status = 'deactivating';
      activation.ending.abort();
      await this.#deactivateService(activation);
      await this.#endTenure(activation.tenure);
    }
    this.#status = next;
    if (next === 'failed' && !this.#stopped) this.#retryLater(activation);
  }

  /** If the service hangs it has no session left to write with, so that it can be activated again. */
  async #deactivateService(activation: Activation): Promise<void> {
    const { service, calls, sessions } = activation;
    try {
      await within(this.#options.ports.timers, deactivateBound, async () => {
        await calls.whenIdle();
        await service.deactivate();
      });
    } catch (error) {
      this.#noteFailure(error);
    }
    activation.isOver = true;
    for (const session of sessions) session.close().catch(() => undefined); // its instance has ended
  }

  /** The pause starts anew for a service that was active for longer than the longest pause. */
  #retryLater(activation: Activation | undefined): void {
    const { clock, timers } = this.#options.ports;
    const activeMs = activation === undefined ? 0 : clock.epochMs() - activation.tenure.activatedAtMs;
    if (activeMs > limits.serviceRetryMsMax) this.#retryMs = limits.serviceRetryMsMin;
    this.#retryTimer = timers.after(this.#retryMs, () => this.start());
    this.#retryMs = Math.min(this.#retryMs * 2, limits.serviceRetryMsMax);
  }

  async #beginTenure(): Promise<ServiceTenureRow> {
    const { spec, of, ports } = this.#options;
    const { pid, instance: host } = of.holder;
    const tenure = {
      name: spec.name,
      number: (this.#tenures.at(-1)?.number ?? 0) + 1,
      epoch: of.epoch,
      pid,
      host,
      activatedAtMs: Math.floor(ports.clock.epochMs()),
      deactivatedAtMs: 0,
    };
    await of.writeTenure(tenure);
    this.#tenures.push(tenure);
    if (this.#tenures.length > limits.serviceTenuresKept) this.#tenures.shift();
    return tenure;
  }

  /** If the instance has ended the row stays open: the next activation knows best when this one ended. */
  async #endTenure(tenure: ServiceTenureRow): Promise<void> {
    const deactivatedAtMs = Math.floor(this.#options.ports.clock.epochMs());
    try {
      await this.#options.of.writeTenure({ ...tenure, deactivatedAtMs });
      tenure.deactivatedAtMs = deactivatedAtMs;
    } catch (error) {
      if (!(error instanceof QueueError)) throw error;
    }
  }

  async call(call: string, argument: Json): Promise<Json> {
    const text = toJsonText(argument, { bytesMax: limits.serviceCallBytesMax, code: 'SERVICE_CALL_INVALID' });
    if (this.#status === 'activating') await this.#transition;
    const activation = this.#activation;
    if (activation === undefined) throw this.#notActive();
    this.#assertActive(activation);
    const { calls = {} } = activation.service;
    if (!Object.hasOwn(calls, call)) {
      throw new QueueError('SERVICE_CALL_NOT_FOUND', {
        details: { service: this.#options.spec.name, call, calls: Object.keys(calls) },
      });
    }
    return await activation.calls.run(() => {
      this.#assertActive(activation); // the calls before it may have taken long
      return this.#run(call, () => calls[call]!(JSON.parse(text) as Json));
    });
  }

  #assertActive(activation: Activation): void {
    this.#options.of.assertServing();
    if (this.#status !== 'active' || activation.ending.signal.aborted) throw this.#notActive();
  }

  #notActive(): QueueError {
    const { name } = this.#options.spec;
    const failure = this.#failure === null ? {} : { failure: { ...this.#failure } };
    return new QueueError('SERVICE_NOT_ACTIVE', {
      details: { service: name, status: this.#status, ...failure },
    });
  }

  /** Whatever the service throws is its own failure: only errors from before a call mean that it was not begun. */
  async #run(call: string, work: () => Json | undefined | Promise<Json | undefined>): Promise<Json> {
    try {
      const result = (await work()) ?? null;
      const text = toJsonText(result, {
        bytesMax: limits.serviceCallBytesMax,
        code: 'SERVICE_CALL_INVALID',
      });
      return JSON.parse(text) as Json;
    } catch (cause) {
      const code = cause instanceof QueueError ? { code: cause.code } : {};
      throw new QueueError('SERVICE_CALL_FAILED', {
        message: cause instanceof Error ? cause.message : String(cause),
        details: { service: this.#options.spec.name, call, ...code },
        cause,
      });
    }
  }

  get info(): ServiceInfo {
    const { spec, of } = this.#options;
    return {
      name: spec.name,
      preferred: of.instance,
      status: this.#status,
      epoch: of.epoch,
      holder: { ...of.holder },
      sinceMs: this.#status === 'active' ? (this.#activation?.tenure.activatedAtMs ?? null) : null,
      calls: Object.keys(this.#activation?.service.calls ?? {}),
      failure: this.#failure,
      history: this.#tenures.map(({ name: _name, deactivatedAtMs, ...tenure }) => ({
        ...tenure,
        deactivatedAtMs: deactivatedAtMs === 0 ? null : deactivatedAtMs,
      })),
    };
  }
}

function pauseUnlessEnding(
  { timers }: Pick<Ports, 'timers'>,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = timers.after(ms, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    const onAbort = () => {
      timer.cancel();
      resolve();
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
