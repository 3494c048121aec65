/** The open sessions of one instance. Their numbers ascend, and none is given twice while the instance is open. */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { ServiceSession } from '../api/service.ts';
import type { InstanceId, SessionNumber } from '../model/ids.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import type { ServiceState } from '../singletons/service-instance.ts';
import { InstanceSession } from './instance-session.ts';
import type { ServedQueues } from './served-queues.ts';
import { SessionOfService } from './service-session.ts';

export interface OpenSessionsOptions {
  instance: InstanceId;
  queues: ServedQueues;
  waits: WaitRecorder;
}

export class OpenSessions {
  readonly #options: OpenSessionsOptions;
  readonly #sessions = new Map<SessionNumber, InstanceSession>();
  #lastNumber: SessionNumber = 0;
  #closing = false;

  constructor(options: OpenSessionsOptions) {
    this.#options = options;
  }

  /** Throws why nothing is served, `INSTANCE_CLOSED`, `SESSIONS_FULL`. */
  open(): InstanceSession {
    const { instance, queues, waits } = this.#options;
    const sessionNumber = this.#nextNumber();
    const session = new InstanceSession(instance, sessionNumber, queues, waits.openSession(sessionNumber));
    this.#sessions.set(sessionNumber, session);
    return session;
  }

  /** A session of a singleton service, which `open` has until it is closed. Throws as `open` does. */
  openForService(state: ServiceState, open: Set<ServiceSession>): SessionOfService {
    const { instance, queues, waits } = this.#options;
    const sessionNumber = this.#nextNumber();
    const time = waits.openSession(sessionNumber);
    const session = new SessionOfService({ instance, sessionNumber, context: queues, time }, state, open);
    this.#sessions.set(sessionNumber, session);
    return session;
  }

  #nextNumber(): SessionNumber {
    this.#options.queues.assertServing();
    if (this.#closing)
      throw new QueueError('INSTANCE_CLOSED', { details: { instance: this.#options.instance } });
    if (this.#sessions.size >= limits.sessionsMax)
      throw new QueueError('SESSIONS_FULL', { details: { sessionsMax: limits.sessionsMax } });
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  /** Each with its number. */
  [Symbol.iterator](): Iterator<[sessionNumber: SessionNumber, session: InstanceSession]> {
    return this.#sessions.entries();
  }

  /** The session has closed. */
  delete(sessionNumber: SessionNumber): void {
    this.#sessions.delete(sessionNumber);
  }

  /** Refuses to open further sessions. */
  refuse(): void {
    this.#closing = true;
  }

  /** Resolves when all are closed, those too whose close fails. */
  async closeAll(): Promise<void> {
    await Promise.allSettled([...this.#sessions.values()].map((session) => session.close()));
  }
}
