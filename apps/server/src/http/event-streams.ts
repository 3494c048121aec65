/** Server-sent event streams: how many there may be, how far one may fall behind, how they end. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { ServerError } from '../errors.ts';

export interface EventStreamsOptions {
  max: number;
  /** Bytes that a reader may leave unread before it is cut off; it comes back and resumes. */
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
  readonly #heart: NodeJS.Timeout;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    this.#heart = setInterval(() => this.#beat(), options.heartbeatMs).unref();
  }

  get size(): number {
    return this.#open.size;
  }

  /** Throws `STREAMS_FULL`, before anything is sent. */
  assertRoom(): void {
    const { max } = this.#options;
    if (this.#open.size >= max) throw new ServerError('STREAMS_FULL', { details: { max } });
  }

  /** Takes the answer over from Fastify. `onClose` is called once, however the stream ends. */
  open(reply: FastifyReply, onClose: () => void): EventStream {
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
      onClose();
    });
    return stream;
  }

  close(): void {
    clearInterval(this.#heart);
    for (const stream of this.#open) stream.end();
  }

  #beat(): void {
    for (const stream of this.#open) stream.send(': still here\n\n');
  }
}
