/** Server-sent event streams, with a limit on their number and on how far a client may fall behind. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { ServerError } from '../errors.ts';
import { FairShares, shareWeights } from '../fair-shares.ts';
import { clientOf } from './client-address.ts';

export interface EventStreamsOptions {
  /** Open streams; one client gets at most three quarters of them. */
  max: number;
  /** Bytes that a client may leave unread before its stream is closed. It can reconnect and resume. */
  unreadBytesMax: number;
  heartbeatMs: number;
}

export class EventStream {
  readonly #response: ServerResponse;
  readonly #unreadBytesMax: number;

  constructor(response: ServerResponse, unreadBytesMax: number) {
    this.#response = response;
    this.#unreadBytesMax = unreadBytesMax;
  }

  send(frame: string): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    this.#response.write(frame);
    if (this.#response.writableLength > this.#unreadBytesMax) this.#response.destroy();
  }

  end(): void {
    if (!this.#response.writableEnded) this.#response.end();
  }
}

export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #open = new Set<EventStream>();
  readonly #places: FairShares<'client'>;
  readonly #heartbeatTimer: NodeJS.Timeout;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    this.#places = new FairShares<'client'>(options.max, shareWeights);
    this.#heartbeatTimer = setInterval(() => this.#sendHeartbeats(), options.heartbeatMs).unref();
  }

  get size(): number {
    return this.#open.size;
  }

  /** Takes the response over from Fastify. `onClose` is called once, however the stream ends. Throws `STREAMS_FULL`. */
  open(reply: FastifyReply, onClose: () => void): EventStream {
    const release = this.#take(reply);
    reply.hijack();
    const headers = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
    reply.raw.writeHead(200, {
      ...(Object.fromEntries(headers) as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    });
    reply.raw.flushHeaders();
    const stream = new EventStream(reply.raw, this.#options.unreadBytesMax);
    this.#open.add(stream);
    reply.raw.once('close', () => {
      this.#open.delete(stream);
      release();
      onClose();
    });
    return stream;
  }

  #take({ request }: FastifyReply): () => void {
    const release = this.#places.take({ client: clientOf(request.raw.socket) });
    if (typeof release === 'function') return release;
    throw new ServerError('STREAMS_FULL', { details: { max: this.#places.max, share: release } });
  }

  close(): void {
    clearInterval(this.#heartbeatTimer);
    for (const stream of this.#open) stream.end();
  }

  #sendHeartbeats(): void {
    for (const stream of this.#open) stream.send(': heartbeat\n\n');
  }
}
