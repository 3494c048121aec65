/**
 * The connection to the servers: requests with a bound in time, errors as the engine's codes, and the choice of another
 * server when JetStream is silent behind the present one.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { JetStreamApiError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import {
  AuthorizationError,
  connect,
  credsAuthenticator,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type NodeConnectionOptions,
  PermissionViolationError,
  RequestError,
} from '@nats-io/transport-node';
import { type NatsStoreOptions, QueueError } from '@shardlab/engine';
import { assertName, invalidArgument } from '@shardlab/engine/store-rules';
import { apiErrorCodes, queueErrorOf } from './server-errors.ts';
import { isNewEnough, oldestServer } from './server-version.ts';
import { storeLimits } from './store-limits.ts';

export interface LinkOptions
  extends Pick<
    NatsStoreOptions,
    'user' | 'password' | 'token' | 'credentials' | 'credentialsFile' | 'tls' | 'callMs'
  > {
  /** `nats://host:port`, one or several of a cluster. */
  servers: string | string[];
}

/** The request had no answer. `isDelivered`: it may have reached the server that it was for. */
export class NoAnswer extends Error {
  readonly isDelivered: boolean;

  constructor(isDelivered: boolean, cause: unknown) {
    super('no answer', { cause });
    this.isDelivered = isDelivered;
  }
}

export class ServerLink {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly #callMs: number;
  #answeredAtMs = performance.now();

  private constructor(connection: NatsConnection, manager: JetStreamManager, callMs: number) {
    this.connection = connection;
    this.manager = manager;
    this.#callMs = callMs;
  }

  /** Throws `INSTANCE_UNREACHABLE`, `STORE_UNAUTHORIZED`, `STORE_TOO_OLD`. */
  static async open(options: LinkOptions): Promise<ServerLink> {
    assertServers(options.servers);
    const { callMs = storeLimits.callMsDefault } = options;
    if (!Number.isFinite(callMs) || callMs <= 0) throw invalidArgument('callMs', 'a time above 0', callMs);
    const until = performance.now() + callMs;
    const connecting = connectionOptions(options, callMs);
    let connection: NatsConnection;
    while (true) {
      try {
        connection = await connect(connecting);
        break;
      } catch (error) {
        if (error instanceof AuthorizationError) throw new QueueError('STORE_UNAUTHORIZED', { cause: error });
        if (performance.now() > until) throw unreachable(error, options);
        await pause(storeLimits.retryPauseMs);
      }
    }
    const version = connection.info?.version ?? 'unknown';
    try {
      if (!isNewEnough(version)) {
        throw new QueueError('STORE_TOO_OLD', {
          message: `The server is nats-server ${version}; ${oldestServer} or later is needed`,
          details: { version, oldest: oldestServer },
        });
      }
      const manager = await jetstreamManager(connection, { checkAPI: false, timeout: storeLimits.requestMs });
      const link = new ServerLink(connection, manager, callMs);
      await link.call(() => manager.getAccountInfo());
      return link;
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Bytes of the largest message, headers included. */
  get messageBytesMax(): number {
    return this.connection.info?.max_payload ?? 1024 * 1024;
  }

  /** One attempt. Throws `NoAnswer`; answers may be refusals. */
  async request(
    subject: string,
    payload: Uint8Array | string,
    options: { headers?: MsgHdrs; timeoutMs?: number } = {},
  ): Promise<Msg> {
    const { headers, timeoutMs = storeLimits.requestMs } = options;
    try {
      const answer = await this.connection.request(subject, payload, {
        timeout: timeoutMs,
        ...(headers !== undefined && { headers }),
      });
      this.noteAnswer();
      return answer;
    } catch (error) {
      if (isRefusedPermission(error)) throw new QueueError('STORE_UNAUTHORIZED', { cause: error });
      this.noteSilence();
      throw new NoAnswer(!(error instanceof RequestError && error.isNoResponders()), error);
    }
  }

  /**
   * A call of the JetStream API that may be repeated, tried while no leader answers. Throws `INSTANCE_UNREACHABLE` and what
   * the servers refuse.
   */
  async call<T>(attempt: () => Promise<T>): Promise<T> {
    const until = performance.now() + this.#callMs;
    while (true) {
      try {
        const result = await attempt();
        this.noteAnswer();
        return result;
      } catch (error) {
        if (error instanceof QueueError) throw error;
        if (isRefusedPermission(error)) throw new QueueError('STORE_UNAUTHORIZED', { cause: error });
        if (error instanceof JetStreamApiError && !apiErrorCodes.temporary.has(error.code)) {
          this.noteAnswer();
          throw queueErrorOf(error.apiError());
        }
        this.noteSilence();
        if (performance.now() > until || this.connection.isClosed()) throw unreachable(error);
        await pause(storeLimits.retryPauseMs);
      }
    }
  }

  noteAnswer(): void {
    this.#answeredAtMs = performance.now();
  }

  noteSilence(): void {
    if (performance.now() - this.#answeredAtMs < storeLimits.silentMsMax || this.connection.isClosed())
      return;
    this.noteAnswer();
    void this.connection.reconnect().catch(() => undefined); // it is closed: the next request says so
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}

function assertServers(servers: unknown): void {
  if (Array.isArray(servers) && servers.length > 0)
    for (const server of servers) assertName('servers', server);
  else assertName('servers', servers);
}

function connectionOptions(options: LinkOptions, callMs: number): NodeConnectionOptions {
  const { servers, user, password, token, tls } = options;
  const credentials =
    options.credentialsFile === undefined ? options.credentials : readCredentials(options.credentialsFile);
  return {
    servers,
    name: 'shardlab',
    timeout: Math.min(callMs, 5_000),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    reconnectJitter: 50,
    pingInterval: 10_000,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { pass: password }),
    ...(token !== undefined && { token }),
    ...(credentials !== undefined && {
      authenticator: credsAuthenticator(new TextEncoder().encode(credentials)),
    }),
    ...(tls !== undefined && { tls }),
  };
}

function readCredentials(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new QueueError('OPTIONS_INVALID', {
      message: `The credentials ${path} cannot be read: ${(cause as Error).message}`,
      cause,
    });
  }
}

function isRefusedPermission(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: unknown };
  return error instanceof PermissionViolationError || cause instanceof PermissionViolationError;
}

function unreachable(cause: unknown, options?: LinkOptions): QueueError {
  // Not exported by the client as a class.
  const notEnabled = cause instanceof Error && cause.name === 'JetStreamNotEnabled';
  return new QueueError('INSTANCE_UNREACHABLE', {
    message: notEnabled
      ? 'The servers answer, but JetStream does not: it is not enabled, or most servers are missing'
      : 'No NATS server answers',
    details: options === undefined ? {} : { servers: [options.servers].flat() },
    cause,
  });
}
