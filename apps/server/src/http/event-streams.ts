/** Server-sent event streams, with a limit on their number and on how far a client may fall behind. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { ServerError } from '../errors.ts';
import { FairShares, shareWeights } from '../fair-shares.ts';
import { clientOf } from './client-address.ts';
import { askWhenHalfClosed } from './half-closed.ts';
import { whenAnswered } from './when-answered.ts';

/** A comment, which clients skip. */
const heartbeat = ': heartbeat\n\n';

export interface EventStreamsOptions {
  /** Open streams; one client gets at most three quarters of them. */
  max: number;
  /** Bytes that a client may have left unread when it gets a frame. Beyond them its stream is closed; it can reconnect and resume. */
  unreadBytesMax: number;
  /** The same over all streams. */
  allUnreadBytesMax: number;
  heartbeatMs: number;
}

export class EventStream {
  readonly #response: ServerResponse;
  readonly #unreadBytesMax: number;
  readonly #onGrown: () => void;

  /** `onGrown`: called after each frame. */
  constructor(response: ServerResponse, unreadBytesMax: number, onGrown: () => void) {
    this.#response = response;
    this.#unreadBytesMax = unreadBytesMax;
    this.#onGrown = onGrown;
  }

  get unreadBytes(): number {
    return this.#response.destroyed ? 0 : this.#response.writableLength;
  }

  send(frame: string): void {
    // A frame alone may be larger than the bound: a client that has read all before it must be able to get it.
    if (this.unreadBytes > this.#unreadBytesMax) this.drop();
    if (this.#response.destroyed || this.#response.writableEnded) return;
    this.#response.write(frame, 'utf8');
    this.#onGrown();
  }

  /** Ends the stream at once. What is unread is not sent. */
  drop(): void {
    this.#response.destroy();
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
    const stream = new EventStream(reply.raw, this.#options.unreadBytesMax, () => this.#dropFurthestBehind());
    this.#open.add(stream);
    askWhenHalfClosed(reply, true, () => stream.send(heartbeat));
    // Also for a client that has gone already.
    whenAnswered(reply, () => {
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

  #dropFurthestBehind(): void {
    const unread = () => [...this.#open].reduce((bytes, stream) => bytes + stream.unreadBytes, 0);
    while (unread() > this.#options.allUnreadBytesMax) {
      const [furthest] = [...this.#open].sort((a, b) => b.unreadBytes - a.unreadBytes);
      furthest!.drop();
    }
  }

  close(): void {
    clearInterval(this.#heartbeatTimer);
    for (const stream of this.#open) stream.end();
  }

  #sendHeartbeats(): void {
    for (const stream of this.#open) stream.send(heartbeat);
  }
}
