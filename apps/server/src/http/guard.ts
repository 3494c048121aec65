/**
 * Who may ask. The server trusts its machine's users, not web pages: a page whose name was re-pointed at 127.0.0.1
 * shows by its Host, one of another site by its Origin. With a key set, every request must carry it; no browser adds it
 * by itself, so the name under which the server is reached does not matter then.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { ServerError } from '../errors.ts';

export interface GuardOptions {
  /** Null: none is needed. */
  key: string | null;
  /** The port that the server listens on; null before it does, and in tests that need no socket. */
  port: () => number | null;
}

/** No name server answers for these. */
const loopbackNames = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

/** Returns a check that throws `HOST_REFUSED`, `ORIGIN_REFUSED` or `KEY_REQUIRED`. */
export function createGuard({ key, port }: GuardOptions): (request: FastifyRequest) => void {
  const expected = key === null ? null : digest(`Bearer ${key}`);
  return ({ headers }) => {
    const { host, origin, authorization } = headers;
    if (expected !== null) {
      if (!timingSafeEqual(expected, digest(authorization ?? ''))) throw new ServerError('KEY_REQUIRED');
    } else if (host === undefined || !isLoopback(host, port())) {
      throw new ServerError('HOST_REFUSED', { details: { host: host ?? null } });
    }
    if (origin !== undefined && origin.toLowerCase() !== `http://${host?.toLowerCase()}`) {
      throw new ServerError('ORIGIN_REFUSED', { details: { origin } });
    }
  };
}

function isLoopback(host: string, port: number | null): boolean {
  const match = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+?)(?::(\d{1,5}))?$/i.exec(host);
  if (match === null || !loopbackNames.test(match[1]!)) return false;
  return port === null || Number(match[2] ?? 80) === port;
}

const digest = (text: string) => createHash('sha256').update(text).digest();
