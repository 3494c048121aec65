/** Lets the server answer a request that arrived at the process of an instance. */
import { type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import { whenHalfClosed } from '../http/half-closed.ts';
import { connectAs, introductionOf } from './introduction.ts';

/** Asks for no connection to be closed: the server does that by its answer, if the client's must be. */
const withoutConnection = (rawHeaders: readonly string[]): string[] =>
  rawHeaders.flatMap((name, at) =>
    at % 2 === 1 || name.toLowerCase() === 'connection' ? [] : [name, rawHeaders[at + 1]!],
  );

/** `path`: of the server's socket. The answer reaches the client as the server gave it. */
export function passOn(request: IncomingMessage, response: ServerResponse, path: string): void {
  const { method, url, headers, rawHeaders, socket } = request;
  const sent = withoutConnection(rawHeaders);
  sent.push('connection', 'keep-alive');
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  // Without it Node would send an empty body in chunks, which has no type.
  if (!hasBody && method === 'POST') sent.push('content-length', '0');
  const server = sendRequest({
    method,
    path: url,
    headers: sent,
    createConnection: () => connectAs(introductionOf(socket), path),
  });
  server.once('response', (answer) => {
    const { statusCode = 500, statusMessage } = answer;
    const closes = answer.headers.connection?.toLowerCase() === 'close';
    const answered = withoutConnection(answer.rawHeaders);
    if (closes) answered.push('connection', 'close');
    response.writeHead(statusCode, statusMessage, answered);
    answer.pipe(response);
    answer.once('error', () => response.destroy());
    answer.once('end', () => {
      // An answer may come before the end of the body, whose rest is then not read.
      request.unpipe(server).resume();
      server.destroy();
    });
  });
  server.on('error', () => {
    if (!response.headersSent) response.destroy(); // the server is gone, and soon is this process
  });
  // If the client ends its sending side, so does this process, and passes on how the server asks whether it is still there.
  const endSending = () => {
    if (server.writableFinished) server.socket?.end();
    else server.once('finish', () => server.socket?.end());
  };
  const stop = whenHalfClosed(socket, endSending);
  server.on('continue', () => {
    if (!response.headersSent) response.writeContinue();
  });
  response.once('close', () => {
    stop();
    server.destroy();
  });
  request.pipe(server);
}

/** Whether the server admits a client with this `Authorization`. It counts wrong ones, and slows down guessing. */
export function isLetIn({ socket, headers }: IncomingMessage, path: string): Promise<boolean> {
  const { authorization = '', host = '' } = headers;
  return new Promise((resolve) => {
    const server = sendRequest({
      path: '/api/session',
      headers: { authorization, host },
      createConnection: () => connectAs(introductionOf(socket), path),
    });
    server.once('response', (answer) => {
      resolve(answer.statusCode === 200);
      server.destroy();
    });
    server.on('error', () => resolve(false));
    server.end();
  });
}
