/** Connects to an instance that another process serves. */
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { type ReadChunk, streamBytes, streamPayload } from '../../instance/payload-stream.ts';
import type { BrowsedMessage, Instance, RemoteInstance, Session } from '../../types.ts';
import type { AdminArguments, AdminCall, AdminResult, BrowsedOnWire } from './admin-calls.ts';
import { ClientLink } from './client-link.ts';
import { requests } from './protocol.ts';
import { RemoteSession, SessionNames } from './remote-session.ts';
import { instanceSocketPath } from './serve-instance.ts';

export interface ConnectOptions {
  /** Folder of the cluster, and which of its instances; default 1. */
  dir?: string;
  instance?: number;
  /** Or the socket itself. */
  path?: string;
  /** How long to look for the instance, now and whenever the connection is lost, ms; default 10,000, at most 60,000. */
  connectMs?: number;
}

/** Returns once the instance answers. Throws `INSTANCE_UNREACHABLE`, `PROTOCOL_VERSION`, `OPTIONS_INVALID`. */
export async function connect(options: ConnectOptions): Promise<RemoteInstance> {
  const { dir, instance = 1, connectMs = limits.connectMsDefault } = options;
  const path = options.path ?? (dir === undefined ? undefined : instanceSocketPath(dir, instance));
  if (path === undefined)
    throw new QueueError('OPTIONS_INVALID', { sentence: 'Either dir or path is needed' });
  if (!Number.isInteger(connectMs) || connectMs < 1 || connectMs > limits.connectMsMax) {
    throw new QueueError('OPTIONS_INVALID', { sentence: `connectMs must be 1 to ${limits.connectMsMax}` });
  }
  const link = new ClientLink(path, connectMs);
  return new LinkedInstance(link, await link.connected());
}

/** As `connect`, without waiting for the instance: the first call does. */
export function linkTo({
  dir,
  instance,
  connectMs,
}: {
  dir: string;
  instance: number;
  connectMs: number;
}): RemoteInstance {
  return new LinkedInstance(new ClientLink(instanceSocketPath(dir, instance), connectMs), instance);
}

class LinkedInstance implements RemoteInstance {
  readonly id: number;
  readonly #link: ClientLink;
  readonly #names = new SessionNames();
  readonly #sessions = new Set<Session>();
  #closed = false;

  constructor(link: ClientLink, id: number) {
    this.#link = link;
    this.id = id;
  }

  openSession(): Session {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED', { sentence: 'The connection was closed' });
    if (this.#sessions.size >= limits.sessionsMax) {
      throw new QueueError('SESSIONS_FULL', { details: { sessionsMax: limits.sessionsMax } });
    }
    const session = new RemoteSession(this.#link, this.#names, (closed) => this.#sessions.delete(closed));
    this.#sessions.add(session);
    return session;
  }

  createQueue(...args: AdminArguments<'createQueue'>) {
    return this.#call('createQueue', args);
  }

  async dropQueue(...args: AdminArguments<'dropQueue'>) {
    await this.#call('dropQueue', args);
  }

  startQueue(...args: AdminArguments<'startQueue'>) {
    return this.#call('startQueue', args);
  }

  stopQueue(...args: AdminArguments<'stopQueue'>) {
    return this.#call('stopQueue', args);
  }

  queues() {
    return this.#call('queues', []);
  }

  queue(...args: AdminArguments<'queue'>) {
    return this.#call('queue', args);
  }

  subscribe(...args: AdminArguments<'subscribe'>) {
    return this.#call('subscribe', args);
  }

  async unsubscribe(...args: AdminArguments<'unsubscribe'>) {
    await this.#call('unsubscribe', args);
  }

  subscribers(...args: AdminArguments<'subscribers'>) {
    return this.#call('subscribers', args);
  }

  stats() {
    return this.#call('stats', []);
  }

  queueStats(...args: AdminArguments<'queueStats'>) {
    return this.#call('queueStats', args);
  }

  waits() {
    return this.#call('waits', []);
  }

  async browse(...args: Parameters<Instance['browse']>): ReturnType<Instance['browse']> {
    const { messages, next } = await this.#call('browse', args);
    return {
      messages: messages.map((message) => fromWire(message, this.#link.readChunk)),
      next,
    };
  }

  async #call<C extends AdminCall>(method: C, args: AdminArguments<C>): Promise<AdminResult<C>> {
    await this.#link.connected();
    return this.#link.ask(requests.call, (outbox) => outbox.rest(JSON.stringify({ method, args })));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    await this.#link.close();
  }
}

function fromWire(
  { payload: base64, chunked, ...message }: BrowsedOnWire,
  readChunk: ReadChunk,
): BrowsedMessage {
  const payload = Buffer.from(base64, 'base64');
  const payloadStream = () =>
    chunked === undefined ? streamBytes(payload) : streamPayload(chunked, readChunk);
  return { ...message, payload, payloadStream };
}
