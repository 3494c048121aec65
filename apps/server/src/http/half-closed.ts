/**
 * Clients that end their sending side once the request is sent (`shutdown(SHUT_WR)`, `nc -N`) still read their answer, so their FIN
 * ends nothing. A client that closes its whole connection sends the same FIN, and TCP tells the two apart only by what is sent to
 * it: a closed one answers with RST, which the next write reports. An answer finds that by itself. Where the server waits before
 * it answers, the client is asked: a waiting dequeue would take messages for nobody, and a stream would keep its place.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { limits } from '../limits.ts';
import { whenAnswered } from './when-answered.ts';

/**
 * Node's servers end a connection at its FIN unless these properties are set: of the sockets (plain HTTP has it anyway), and of HTTP,
 * which Node's documentation does not name.
 */
export function answerHalfClosed(server: Server): void {
  Object.assign(server, { allowHalfOpen: true, httpAllowHalfOpen: true });
}

const waiting = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls `begin` once the client has ended its sending side, unless what it returns is called before. All requests of a connection share
 * a listener: Node warns of more than ten.
 */
export function whenHalfClosed(socket: Socket, begin: () => void): () => void {
  if (socket.readableEnded) {
    begin();
    return () => undefined;
  }
  const others = waiting.get(socket);
  const all = others ?? new Set();
  if (others === undefined) {
    waiting.set(socket, all);
    socket.once('end', () => {
      for (const each of all) each();
    });
  }
  all.add(begin);
  return () => void all.delete(begin);
}

/**
 * Calls `ask`, which writes something harmless, while a client that has ended its sending side waits: the first write makes a
 * closed client's machine send RST, the next one finds it. `atOnce`: where the client may have to wait for long; an answer that
 * comes soon is then the first that is written.
 */
export function askWhenHalfClosed(reply: FastifyReply, atOnce: boolean, ask: () => void): void {
  let timer: NodeJS.Timeout | undefined;
  const stop = whenHalfClosed(reply.request.raw.socket, () => {
    timer = setInterval(ask, limits.halfClosedAskMs);
    if (atOnce) ask();
  });
  whenAnswered(reply, () => {
    stop();
    clearInterval(timer);
  });
}

/**
 * Asks with the interim response 100, which every client of HTTP/1.1 must expect and skip. One of HTTP/1.0 knows none, and cannot be
 * asked: while it `waits` for messages, its FIN counts as its end.
 */
export function askByInterim(reply: FastifyReply, waits: boolean): void {
  const { raw, request } = reply;
  if (raw.headersSent) return;
  if (request.raw.httpVersion === '1.1') raw.writeContinue();
  else if (waits) raw.destroy();
}
