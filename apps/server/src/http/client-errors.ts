/** Responses to bytes that are not a valid HTTP request, in the usual error format. Fastify never sees these. */
import type { Socket } from 'node:net';
import { ServerError, type ServerErrorCode, serverErrorRegistry, toBody } from '../errors.ts';

const codeOf: Readonly<Record<string, ServerErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

export function answerClientError(error: { code?: string }, socket: Socket): void {
  // The client disconnected, or a response has already been sent: another one would not be read.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const code = codeOf[error.code ?? ''] ?? 'REQUEST_INVALID';
  const text = JSON.stringify(toBody(new ServerError(code)));
  const head = [
    `HTTP/1.1 ${serverErrorRegistry[code].status} Refused`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
