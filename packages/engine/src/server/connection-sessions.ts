/** The sessions that a client has opened over one connection, by the numbers that it gave them. */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { AttachmentNumber, RemoteSessionNumber } from '../model/ids.ts';
import type { Ports } from '../model/ports.ts';
import type { LocalInstance } from '../runtime/local-instance.ts';
import { protocolError } from '../wire/protocol.ts';
import { ServerSession } from './server-session.ts';

export interface SessionOpening {
  session: Buffer;
  attachment: AttachmentNumber;
}

export class ConnectionSessions {
  readonly #instance: LocalInstance;
  readonly #ports: Pick<Ports, 'clock' | 'timers'>;
  readonly #sessions = new Map<RemoteSessionNumber, ServerSession>();
  /** Sessions that could not be opened. Each of their calls tries again. */
  readonly #refused = new Map<RemoteSessionNumber, SessionOpening>();
  /** The client numbers its sessions in ascending order: up to this one they may be closed. */
  #lastNumber: RemoteSessionNumber = -1;

  constructor(instance: LocalInstance, ports: Pick<Ports, 'clock' | 'timers'>) {
    this.#instance = instance;
    this.#ports = ports;
  }

  /** The client does not wait for the answer: a refusal is reported to the first call. Throws `PROTOCOL_INVALID`. */
  open(sessionNumber: RemoteSessionNumber, opening: SessionOpening): void {
    if (this.#sessions.has(sessionNumber) || this.#refused.has(sessionNumber)) {
      throw protocolError(`Session ${sessionNumber} is already open`);
    }
    this.#lastNumber = Math.max(this.#lastNumber, sessionNumber);
    try {
      this.#sessions.set(sessionNumber, new ServerSession(this.#instance, opening, this.#ports));
    } catch {
      if (this.#refused.size >= limits.sessionsMax) throw protocolError('Too many sessions were refused');
      this.#refused.set(sessionNumber, opening);
    }
  }

  /** Throws `SESSION_CLOSED`, again what refused a session, and `PROTOCOL_INVALID` for one that was never opened. */
  find(sessionNumber: RemoteSessionNumber): ServerSession {
    const session = this.#sessions.get(sessionNumber);
    if (session !== undefined) return session;
    const opening = this.#refused.get(sessionNumber);
    if (opening === undefined) {
      if (sessionNumber <= this.#lastNumber) throw new QueueError('SESSION_CLOSED');
      throw protocolError(`Session ${sessionNumber} was not opened`);
    }
    const opened = new ServerSession(this.#instance, opening, this.#ports);
    this.#refused.delete(sessionNumber);
    this.#sessions.set(sessionNumber, opened);
    return opened;
  }

  isRefused(sessionNumber: RemoteSessionNumber): boolean {
    return this.#refused.has(sessionNumber);
  }

  /** Undefined for a session that was refused, which has no wait to cancel and no upload. */
  findOpen(sessionNumber: RemoteSessionNumber): ServerSession | undefined {
    return this.#sessions.get(sessionNumber);
  }

  /** Resolves when the session is closed. Throws `PROTOCOL_INVALID`. */
  async close(sessionNumber: RemoteSessionNumber): Promise<void> {
    if (this.#refused.delete(sessionNumber)) return;
    const session = this.find(sessionNumber);
    this.#sessions.delete(sessionNumber);
    await session.close();
  }

  /** The connection is lost: resolves when the commits under way have ended. */
  async detachAll(): Promise<void> {
    await Promise.allSettled([...this.#sessions.values()].map((session) => session.detach()));
  }
}
