/**
 * A client's connection to the process that serves an instance. It carries the requests of many sessions at once, each
 * matched to its answer by number. When it is lost, what was asked and not answered is `LinkLost`, and it connects again to
 * the same path, as long as `connectMs` says; the next call after that tries anew.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { QueueError } from '../../core/errors.ts';
import { Committed } from '../../instance/committed.ts';
import type { ReadChunk } from '../../instance/payload-stream.ts';
import { readIdRuns } from '../../storage/id-runs.ts';
import type { ChunkPlace } from '../../storage/payload-table.ts';
import type { Message } from '../../types.ts';
import { BodyReader } from './body-reader.ts';
import { FrameReader } from './frame-reader.ts';
import { readHandOuts } from './hand-outs.ts';
import { Outbox } from './outbox.ts';
import {
  errorFromJson,
  protocolError,
  protocolMagic,
  protocolVersion,
  replies,
  requests,
} from './protocol.ts';
import { resultsFromJson } from './sql-json.ts';

/** The connection was lost before the answer came: the request may or may not have been done. */
export class LinkLost extends QueueError {
  constructor(path: string) {
    super('INSTANCE_UNREACHABLE', { details: { path } });
  }
}

const retryMsMin = 5;
const retryMsMax = 100;

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** Of a hand-out in several frames, what has come so far. */
  messages?: Message[];
}

interface Connection {
  socket: Socket;
  outbox: Outbox;
  instance: number;
  /** Aborted with `LinkLost` when it ends. */
  ended: AbortSignal;
}

export class ClientLink {
  readonly path: string;
  /** How long it looks for the instance. */
  readonly connectMs: number;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #pending = new Map<number, Pending>();
  #lastRequest = 0;
  #closed = false;
  /** Raised with every new connection: what sessions opened on an earlier one is gone. */
  generation = 0;

  constructor(path: string, connectMs: number) {
    this.path = path;
    this.connectMs = connectMs;
  }

  get open(): boolean {
    return this.#connection !== undefined;
  }

  /** Connects unless it is connected; returns the number of the instance. Throws `INSTANCE_UNREACHABLE`, `PROTOCOL_VERSION`. */
  async connected(): Promise<number> {
    if (this.#connection !== undefined) return this.#connection.instance;
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED', { sentence: 'The connection was closed' });
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return (await this.#connecting).instance;
  }

  async #connect(): Promise<Connection> {
    const until = performance.now() + this.connectMs;
    for (let waitMs = retryMsMin; ; waitMs = Math.min(waitMs * 2, retryMsMax)) {
      try {
        return await this.#tryConnect(until);
      } catch (error) {
        if (error instanceof QueueError && !error.retryable) throw error;
        if (performance.now() + waitMs >= until || this.#closed) {
          const sentence = `Nothing serves at ${this.path}`;
          throw new QueueError('INSTANCE_UNREACHABLE', {
            sentence,
            details: { path: this.path },
            cause: error,
          });
        }
      }
      await pause(waitMs);
    }
  }

  /** One attempt, greeting included. */
  async #tryConnect(until: number): Promise<Connection> {
    const socket = connect(this.path);
    const outbox = new Outbox(socket);
    const pending = new Map<number, Pending>();
    const ending = new AbortController();
    const asked = { pending, readChunk: this.readChunk };
    const frames = new FrameReader((source, start, end) => onReply(asked, source, start, end));
    socket.on('data', (chunk: Buffer) => {
      try {
        frames.push(chunk);
      } catch (error) {
        failAll(pending, error);
        socket.destroy();
      }
    });
    socket.on('error', () => undefined); // 'close' follows
    socket.on('close', () => {
      const lost = new LinkLost(this.path);
      failAll(pending, lost);
      ending.abort(lost);
      if (this.#connection?.socket === socket) this.#connection = undefined;
    });
    outbox.begin(requests.hello, 0);
    outbox.u32(protocolMagic);
    outbox.u16(protocolVersion);
    outbox.end();
    const impatience = setTimeout(() => socket.destroy(), Math.max(1, until - performance.now()));
    try {
      const instance = await new Promise<number>((resolve, reject) => {
        pending.set(0, { resolve: resolve as Pending['resolve'], reject });
      });
      if (this.#closed) throw new LinkLost(this.path);
      this.#connection = { socket, outbox, instance, ended: ending.signal };
      this.#pending = pending;
      this.generation += 1;
      return this.#connection;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      clearTimeout(impatience);
    }
  }

  /** Sends a request that has no answer. The link must be open. */
  tell(kind: number, write: (outbox: Outbox) => void): void {
    const { outbox } = this.#connection!;
    outbox.begin(kind, 0);
    write(outbox);
    outbox.end();
  }

  /** Sends a request and resolves with its answer. Throws `LinkLost`, and what the instance answers. The link must be open. */
  ask<T>(kind: number, write: (outbox: Outbox) => void): Promise<T> {
    const { outbox } = this.#connection!;
    this.#lastRequest = this.#lastRequest === 0xffff_ffff ? 1 : this.#lastRequest + 1;
    const request = this.#lastRequest;
    outbox.begin(kind, request);
    write(outbox);
    outbox.end();
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(request, { resolve: resolve as Pending['resolve'], reject });
    });
  }

  /** Tells that the connection of now ends. The link must be open. */
  get ended(): AbortSignal {
    return this.#connection!.ended;
  }

  /** A chunk of a streamed payload, over whichever connection there is: it is asked for when its reader wants it. */
  readonly readChunk = async ({ payload, no }: ChunkPlace): Promise<Uint8Array> => {
    await this.connected();
    return await this.ask<Buffer>(requests.readChunk, (outbox) => {
      outbox.f64(payload);
      outbox.u32(no);
    });
  };

  /** While the instance does not read what it is sent, nothing more is sent. */
  get full(): boolean {
    return this.#connection?.outbox.full ?? false;
  }

  async drained(): Promise<void> {
    await this.#connection?.outbox.drained();
  }

  /** What is not answered yet is `LinkLost`. */
  async close(): Promise<void> {
    this.#closed = true;
    const connection = this.#connection ?? (await this.#connecting?.catch(() => undefined));
    if (connection === undefined || connection.socket.destroyed) return;
    const ended = new Promise<void>((resolve) => connection.socket.once('close', () => resolve()));
    connection.outbox.close();
    connection.socket.destroySoon();
    await ended;
  }
}

function failAll(pending: Map<number, Pending>, error: unknown): void {
  for (const { reject } of pending.values()) reject(error);
  pending.clear();
}

function onReply(
  { pending, readChunk }: { pending: Map<number, Pending>; readChunk: ReadChunk },
  source: Buffer,
  start: number,
  end: number,
): void {
  const kind = source[start]!;
  const request = source.readUInt32LE(start + 1);
  const body = new BodyReader(source, start + 5, end);
  const waiting = pending.get(request);
  if (waiting === undefined) {
    if (kind === replies.failed) throw errorFromJson(body.rest()); // about the connection as a whole
    throw protocolError('An answer came to what nobody asked');
  }
  if (kind === replies.part || kind === replies.handedOut) {
    waiting.messages ??= [];
    readHandOuts(body, waiting.messages, readChunk);
    if (kind === replies.part) return;
  }
  pending.delete(request);
  if (kind === replies.handedOut) waiting.resolve(waiting.messages);
  else if (kind === replies.committed) {
    if (body.left % 16 !== 0) throw protocolError('Ids do not end where they say');
    waiting.resolve(new Committed(readIdRuns(source, body.at, end)));
  } else if (kind === replies.committedWithResults) {
    const bytes = body.u32();
    const start = body.skip(bytes);
    const runs = readIdRuns(source, start, start + bytes);
    waiting.resolve(new Committed(runs, resultsFromJson(body.rest())));
  } else if (kind === replies.done || kind === replies.notCommitted) waiting.resolve(undefined);
  else if (kind === replies.result) waiting.resolve(JSON.parse(body.rest()));
  else if (kind === replies.chunk) waiting.resolve(source.subarray(body.at, end));
  else if (kind === replies.welcome) waiting.resolve(body.u32());
  else if (kind === replies.failed) waiting.reject(errorFromJson(body.rest()));
  else throw protocolError(`There is no answer ${kind}`);
}
