/**
 * The minimum pace at which a client must send a body, or read a long response. Without one, a client that sends or reads a byte
 * now and then would keep a place for ever. Only the time in which the server waits for the client counts, so a busy server does
 * not make a client look slow.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import { ServerError } from '../errors.ts';
import type { App } from './app-types.ts';
import { whenAnswered } from './when-answered.ts';

export interface Pace {
  /** Added to the first window, for connections that start slowly. */
  graceMs: number;
  /** Time over which the pace is averaged. */
  windowMs: number;
  bytesPerSecMin: number;
}

/** Config of routes that read a body chunk by chunk, with `chunksAtPace`. */
export const streamedBody = { streamedBody: true } as const;

/** The windows of one body. Knows no clock. */
export class PaceWindow {
  readonly #pace: Pace;
  #leftMs: number;
  #bytes = 0;

  constructor(pace: Pace) {
    this.#pace = pace;
    this.#leftMs = pace.graceMs + pace.windowMs;
  }

  /** Waiting time until the window ends. */
  get leftMs(): number {
    return this.#leftMs;
  }

  arrived(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Call after waiting `ms` for the client. Throws `REQUEST_TOO_SLOW` if a window ends in which too little arrived. */
  waited(ms: number): void {
    this.#leftMs -= ms;
    if (this.#leftMs > 0) return;
    const { windowMs, bytesPerSecMin } = this.#pace;
    if (this.#bytes * 1_000 < bytesPerSecMin * windowMs) {
      throw new ServerError('REQUEST_TOO_SLOW', { details: { bytesPerSecMin, windowMs } });
    }
    this.#leftMs = windowMs;
    this.#bytes = 0;
  }
}

export const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Bodies that are read as a whole must arrive at this pace, and within `ms`: else `REQUEST_TOO_SLOW`, `REQUEST_TIMEOUT`. */
export function limitBodyTime(app: App, { ms, pace }: { ms: number; pace: Pace }): void {
  app.addHook('preParsing', async (request, reply, body) => {
    if ((request.routeOptions.config as Partial<typeof streamedBody>).streamedBody) return body;
    if (!hasBody(request.headers)) return body; // it would end with the response only
    const { socket } = request.raw;
    const window = new PaceWindow(pace);
    let read = socket.bytesRead;
    const refuse = (error: unknown) => {
      closeAfter(reply);
      void reply.send(error);
    };
    const deadline = setTimeout(() => refuse(new ServerError('REQUEST_TIMEOUT')), ms);
    const checks = checkWindows(window, () => {
      window.arrived(socket.bytesRead - read);
      read = socket.bytesRead;
      try {
        window.waited(window.leftMs);
      } catch (error) {
        refuse(error);
        return false;
      }
      return true;
    });
    const stop = () => {
      clearTimeout(deadline);
      checks.stop();
    };
    for (const event of ['end', 'close', 'error']) body.once(event, stop);
    return body;
  });
}

/** Closes the connection of a client that reads a response more slowly than this, while there is something to read. */
export function limitReadTime(reply: FastifyReply, pace: Pace): void {
  const { socket } = reply.raw;
  if (socket === null) return;
  const sent = () => socket.bytesWritten - socket.writableLength;
  const window = new PaceWindow(pace);
  let before = sent();
  const checks = checkWindows(window, () => {
    // Nothing is left unread: the server is at work, or waits for messages.
    window.arrived(socket.writableLength === 0 ? Number.POSITIVE_INFINITY : sent() - before);
    before = sent();
    try {
      window.waited(window.leftMs);
    } catch {
      socket.destroy();
      return false;
    }
    return true;
  });
  whenAnswered(reply, checks.stop);
}

/** The chunks of a request body. Throws `REQUEST_TOO_SLOW`. */
export async function* chunksAtPace(body: IncomingMessage, pace: Pace): AsyncGenerator<Buffer> {
  // A destroyed request could no longer be answered.
  const chunks = body.iterator({ destroyOnReturn: false });
  const window = new PaceWindow(pace);
  for (;;) {
    const { value, done } = await waitAtPace(chunks.next(), window);
    if (done) return;
    window.arrived((value as Buffer).length);
    yield value as Buffer;
  }
}

/** Waits for the client's next bytes, for as long as its window allows. */
async function waitAtPace<T>(next: Promise<T>, window: PaceWindow): Promise<T> {
  const { promise: tooSlow, reject } = Promise.withResolvers<never>();
  let startedAt = performance.now();
  const countWait = () => {
    const now = performance.now();
    const ms = now - startedAt;
    startedAt = now;
    window.waited(ms);
  };
  const checks = checkWindows(window, () => {
    try {
      countWait();
    } catch (error) {
      reject(error);
      return false;
    }
    return true;
  });
  try {
    const result = await Promise.race([next, tooSlow]);
    // The client's wait ended within its window, or at its end: what arrived now counts for it.
    window.waited(Math.min(performance.now() - startedAt, Math.max(0, window.leftMs - 1)));
    return result;
  } finally {
    checks.stop();
  }
}

/**
 * Calls `check` at the end of each window, until it returns false. Bytes that have arrived by then are read first: a busy server
 * would otherwise check the clock before it reads from the client.
 */
function checkWindows(window: PaceWindow, check: () => boolean): { stop(): void } {
  let afterReading: NodeJS.Immediate | undefined;
  const onTime = () => {
    afterReading = setImmediate(() => {
      if (check()) timer = setTimeout(onTime, window.leftMs);
    });
  };
  let timer = setTimeout(onTime, window.leftMs);
  return {
    stop: () => {
      clearTimeout(timer);
      clearImmediate(afterReading);
    },
  };
}

/** Closes the connection after the response: if a body was not read to its end, no other request can use it. */
export function closeAfter(reply: FastifyReply): void {
  reply.header('connection', 'close');
}
