/**
 * A client's connection to the process that serves an instance. It carries the requests of many sessions at once. When it
 * is lost, every unanswered request rejects with `ConnectionLost`; the next call connects to the same path again and
 * retries for up to `connectMs`.
 */

import { connect, type Socket } from 'node:net';
import { QueueError } from '../api/errors.ts';
import type { InstanceId, LinkGeneration, RequestNumber } from '../model/ids.ts';
import { pause } from '../model/pause.ts';
import type { ChunkKey } from '../model/payload-chunk.ts';
import type { Clock, Ports, Timers } from '../model/ports.ts';
import { FrameReader } from '../wire/frame-reader.ts';
import { FrameWriter } from '../wire/frame-writer.ts';
import { protocolMagic, protocolVersion, requests } from '../wire/protocol.ts';
import { ConnectionLost, PendingRequests, type PushedMessages } from './pending-requests.ts';

const retryMsMin = 5;
const retryMsMax = 100;

export interface ClientLinkOptions {
  path: string;
  /** How long to retry until the instance answers. */
  connectMs: number;
  ports: Ports;
}

interface Connection {
  socket: Socket;
  writer: FrameWriter;
  pending: PendingRequests;
  instance: InstanceId;
  /** Aborted with `ConnectionLost` when the connection ends. */
  ended: AbortSignal;
}

export class ClientLink {
  readonly path: string;
  readonly connectMs: number;
  readonly ports: Ports;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #lastRequest: RequestNumber = 0;
  #closed = false;
  /** Raised with every new connection. Sessions that were opened on an earlier one must be opened again. */
  generation: LinkGeneration = 0;

  constructor({ path, connectMs, ports }: ClientLinkOptions) {
    this.path = path;
    this.connectMs = connectMs;
    this.ports = ports;
    this.#clock = ports.clock;
    this.#timers = ports.timers;
  }

  get isOpen(): boolean {
    return this.#connection !== undefined;
  }

  /** The number of the instance; undefined while there is no connection. */
  get instance(): InstanceId | undefined {
    return this.#connection?.instance;
  }

  /** Connects unless connected; returns the number of the instance. Throws `INSTANCE_UNREACHABLE`, `PROTOCOL_VERSION`. */
  async ensureConnected(): Promise<InstanceId> {
    if (this.#connection !== undefined) return this.#connection.instance;
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED', { message: 'The connection was closed' });
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return (await this.#connecting).instance;
  }

  async #connect(): Promise<Connection> {
    const untilMs = this.#clock.monotonicMs() + this.connectMs;
    /** Why the instance itself refused the last attempt that it answered. */
    let refusal: QueueError | undefined;
    for (let waitMs = retryMsMin; ; waitMs = Math.min(waitMs * 2, retryMsMax)) {
      try {
        return await this.#tryConnect(untilMs);
      } catch (error) {
        if (error instanceof QueueError && !error.retryable) throw error;
        if (error instanceof QueueError && !(error instanceof ConnectionLost)) refusal = error;
        if (this.#clock.monotonicMs() + waitMs >= untilMs || this.#closed) {
          if (refusal !== undefined) throw refusal;
          throw new QueueError('INSTANCE_UNREACHABLE', {
            message: `No instance answers at ${this.path}`,
            details: { path: this.path },
            cause: error,
          });
        }
      }
      await pause(this.#timers, waitMs);
    }
  }

  /** Makes one attempt, including the greeting. */
  async #tryConnect(untilMs: number): Promise<Connection> {
    const socket = connect(this.path);
    const writer = new FrameWriter(socket, this.#timers);
    const pending = new PendingRequests(this.readChunk);
    const ending = new AbortController();
    const frames = new FrameReader(pending.onFrame);
    socket.on('data', (chunk: Buffer) => {
      try {
        frames.push(chunk);
      } catch (error) {
        // Once connected, an invalid frame says nothing about the requests: a commit may have succeeded.
        const isConnected = this.#connection?.socket === socket;
        pending.rejectAll(isConnected ? new ConnectionLost(this.path, error) : error, error);
        socket.destroy();
      }
    });
    socket.on('error', () => undefined); // 'close' follows
    socket.on('close', () => {
      const lost = new ConnectionLost(this.path);
      if (this.#connection?.socket === socket) this.#connection = undefined; // whoever is told connects again
      pending.rejectAll(lost);
      ending.abort(lost);
    });
    writer.beginFrame(requests.hello, 0);
    writer.u32(protocolMagic);
    writer.u16(protocolVersion);
    writer.endFrame();
    const leftMs = Math.max(1, untilMs - this.#clock.monotonicMs());
    const greetingTimeout = this.#timers.deadline(leftMs, () => socket.destroy());
    try {
      const instance = await pending.add<InstanceId>(0);
      if (this.#closed) throw new ConnectionLost(this.path);
      this.#connection = { socket, writer, pending, instance, ended: ending.signal };
      this.generation += 1;
      return this.#connection;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      greetingTimeout.cancel();
    }
  }

  /** Sends a request that has no answer. The link must be open. */
  sendOneWay(kind: number, write: (writer: FrameWriter) => void): void {
    const { writer } = this.#connection!;
    writer.beginFrame(kind, 0);
    write(writer);
    writer.endFrame();
  }

  /** Sends a request and resolves with its answer. Throws `ConnectionLost`, and what the instance answers. The link must be open. */
  request<T>(kind: number, write: (writer: FrameWriter) => void): Promise<T> {
    const { writer, pending } = this.#connection!;
    this.#lastRequest = this.#lastRequest === 0xffff_ffff ? 1 : this.#lastRequest + 1;
    const request = this.#lastRequest;
    writer.beginFrame(kind, request);
    write(writer);
    writer.endFrame();
    return pending.add<T>(request);
  }

  /**
   * Sends the request that opens a consumer. `opened` resolves when it is open; its messages arrive until `close`, or until its
   * `onEnded` is called. The link must be open.
   */
  openConsumer(
    consumer: PushedMessages,
    write: (writer: FrameWriter) => void,
  ): { number: RequestNumber; opened: Promise<void>; close(): void } {
    const { pending } = this.#connection!;
    const opened = this.request<void>(requests.openConsumer, write);
    const number = this.#lastRequest;
    pending.addConsumer(number, consumer);
    return { number, opened, close: () => pending.removeConsumer(number) };
  }

  /** Aborted when the current connection ends. The link must be open. */
  get connectionEnded(): AbortSignal {
    return this.#connection!.ended;
  }

  /** Reads a chunk of a streamed payload over the current connection, whichever one brought the message. */
  readonly readChunk = async ({ payloadId, chunkIndex }: ChunkKey): Promise<Uint8Array> => {
    await this.ensureConnected();
    return await this.request<Buffer>(requests.readChunk, (writer) => {
      writer.f64(payloadId);
      writer.u32(chunkIndex);
    });
  };

  /** The instance reads more slowly than this client sends: wait for `drained` before a large request. */
  get full(): boolean {
    return this.#connection?.writer.full ?? false;
  }

  async drained(): Promise<void> {
    await this.#connection?.writer.drained();
  }

  /** Rejects every unanswered request with `ConnectionLost`. */
  async close(): Promise<void> {
    this.#closed = true;
    const connection = this.#connection ?? (await this.#connecting?.catch(() => undefined));
    if (connection === undefined || connection.socket.destroyed) return;
    const ended = new Promise<void>((resolve) => connection.socket.once('close', () => resolve()));
    connection.writer.close();
    connection.socket.destroySoon();
    await ended;
  }
}
