/** The calls that the process of an instance answers: those that move messages. The server answers all others. */
import type { IncomingMessage } from 'node:http';

const path = String.raw`/api/queues/[^/?\s]+/(?:messages|dequeue|ack|nack|extend)`;
const requestLine = new RegExp(`^POST ${path} HTTP/1\\.1\\r\\n`);
const exactPath = new RegExp(`^${path}$`);

/** Longer than any request line that the routes accept. */
const requestLineBytesMax = 2_048;

/** Whether the first bytes of a connection begin such a call. */
export function beginsQueueCall(bytes: Buffer): boolean {
  return requestLine.test(bytes.toString('latin1', 0, requestLineBytesMax));
}

/**
 * Whether a request is such a call, and nothing about it is known to the server alone: idempotency keys have an instance of
 * their own, and sessions of browsers are in the server's memory.
 */
export function isQueueCall({ method, url = '', headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    exactPath.test(url) &&
    headers['idempotency-key'] === undefined &&
    headers.cookie === undefined &&
    headers.origin === undefined
  );
}
