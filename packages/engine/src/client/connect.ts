/** An instance that another process serves, as its client sees it. */

import type { ClientSessionOptions } from '../api/consumer.ts';
import { QueueError } from '../api/errors.ts';
import type { Instance, RemoteInstance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { Session } from '../api/session.ts';
import type { XaResource } from '../api/xa.ts';
import type { InstanceId } from '../model/ids.ts';
import { type ReadChunk, streamPayload } from '../payloads/payload-stream.ts';
import type { AdminArguments, AdminCall, AdminResult, WireBrowsedMessage } from '../wire/admin-call-types.ts';
import { requests } from '../wire/protocol.ts';
import { ClientLink, type ClientLinkOptions } from './client-link.ts';
import { ConnectionLost } from './pending-requests.ts';
import { RemoteResource } from './remote-branches.ts';
import { RemoteSession } from './remote-session.ts';
import { SessionIds } from './session-ids.ts';

/** Returns once the instance answers. Throws `INSTANCE_UNREACHABLE`, `PROTOCOL_VERSION`. */
export async function connectLink(options: ClientLinkOptions): Promise<RemoteInstance> {
  const link = new ClientLink(options);
  return new LinkedRemoteInstance(link, await link.ensureConnected());
}

/** Returns at once; the first call connects. */
export function connectLinkLazily(options: ClientLinkOptions, instance: InstanceId): LinkedRemoteInstance {
  return new LinkedRemoteInstance(new ClientLink(options), instance);
}

export class LinkedRemoteInstance implements RemoteInstance {
  readonly id: InstanceId;
  readonly xa: XaResource;
  readonly #link: ClientLink;
  readonly #sessionIds: SessionIds;
  readonly #sessions = new Set<Session>();
  #closed = false;

  constructor(link: ClientLink, id: InstanceId) {
    this.#link = link;
    this.xa = new RemoteResource(link);
    this.#sessionIds = new SessionIds(link.ports.random);
    this.id = id;
  }

  openSession(options?: ClientSessionOptions): RemoteSession {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED', { message: 'The connection was closed' });
    if (this.#sessions.size >= limits.sessionsMax) {
      throw new QueueError('SESSIONS_FULL', { details: { sessionsMax: limits.sessionsMax } });
    }
    const context = {
      link: this.#link,
      ids: this.#sessionIds,
      onClosed: (closed: Session) => this.#sessions.delete(closed),
    };
    const session = new RemoteSession(context, options);
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

  async probe() {
    await this.#call('probe', []);
  }

  services() {
    return this.#call('services', []);
  }

  async callService(...args: AdminArguments<'callService'>) {
    try {
      return await this.#call('callService', args);
    } catch (error) {
      // The request was sent; otherwise the link itself throws INSTANCE_UNREACHABLE.
      if (error instanceof ConnectionLost)
        throw new QueueError('SERVICE_CALL_UNKNOWN', { details: { service: args[0] }, cause: error });
      throw error;
    }
  }

  messageTrace(...args: AdminArguments<'messageTrace'>) {
    return this.#call('messageTrace', args);
  }

  tracedMessages(...args: AdminArguments<'tracedMessages'>) {
    return this.#call('tracedMessages', args);
  }

  async traceNext(...args: AdminArguments<'traceNext'>) {
    await this.#call('traceNext', args);
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
      messages: messages.map((message) => decodeBrowsedMessage(message, this.#link.readChunk)),
      next,
    };
  }

  async #call<C extends AdminCall>(method: C, args: AdminArguments<C>): Promise<AdminResult<C>> {
    const json = JSON.stringify({ method, args: withoutOmitted(args) });
    // A longer frame would end the connection, and with it what other sessions do there.
    if (Buffer.byteLength(json) > limits.adminCallBytesMax)
      throw new QueueError('OPTIONS_INVALID', {
        message: `The arguments of ${method} have more than ${limits.adminCallBytesMax} bytes as JSON`,
        details: { adminCallBytesMax: limits.adminCallBytesMax },
      });
    await this.#link.ensureConnected();
    return this.#link.request(requests.adminCall, (writer) => writer.remainingText(json));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    await this.#link.close();
  }
}

/** In JSON an argument that was left out would be null, which is another value. */
function withoutOmitted(args: readonly unknown[]): readonly unknown[] {
  return args.slice(0, args.findLastIndex((argument) => argument !== undefined) + 1);
}

function decodeBrowsedMessage(
  { payload: base64, chunked, ...message }: WireBrowsedMessage,
  readChunk: ReadChunk,
): BrowsedMessage {
  const payload = Buffer.from(base64, 'base64');
  return { ...message, payload, payloadStream: () => streamPayload(chunked ?? payload, readChunk) };
}
