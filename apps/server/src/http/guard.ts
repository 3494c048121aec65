/**
 * Access control. The server trusts the users of its machine, but not web pages: DNS rebinding shows in the Host header,
 * a page of another site in the Origin and Sec-Fetch-Site headers. Pictures and links of other sites send neither an
 * Origin nor anything else that tells them apart, so GET, HEAD and OPTIONS change nothing. If a key is set, every request must carry it. No browser adds it
 * by itself, so the host name does not matter then.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { ServerError } from '../errors.ts';

export interface GuardOptions {
  /** Null: no key is required. */
  key: string | null;
  /** The port on which the server listens; null before it does, and in tests without a socket. */
  port: () => number | null;
}

/** Names that always mean this machine, whatever a name server says. */
const loopbackNames = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

/** Returns a check that throws `HOST_REFUSED`, `ORIGIN_REFUSED` or `KEY_REQUIRED`. */
export function createGuard({ key, port }: GuardOptions): (request: FastifyRequest) => void {
  const expected = key === null ? null : digest(`Bearer ${key}`);
  return ({ headers, method }) => {
    const { host, origin, authorization } = headers;
    if (expected !== null) {
      if (!timingSafeEqual(expected, digest(authorization ?? ''))) throw new ServerError('KEY_REQUIRED');
    } else if (host === undefined || !isLoopback(host, port())) {
      throw new ServerError('HOST_REFUSED', { details: { host: host ?? null } });
    }
    if (origin !== undefined && origin.toLowerCase() !== `http://${host?.toLowerCase()}`) {
      throw new ServerError('ORIGIN_REFUSED', { details: { origin } });
    }
    const site = headers['sec-fetch-site'];
    if (!isSafe(method) && !isOwnSite(site)) throw new ServerError('ORIGIN_REFUSED', { details: { site } });
  };
}

const isSafe = (method: string) => method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

/** Without the header the client is no browser. `same-site` is another port or name, so another program's page. */
const isOwnSite = (site: string | string[] | undefined) =>
  site === undefined || site === 'same-origin' || site === 'none';

function isLoopback(host: string, port: number | null): boolean {
  const match = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+?)(?::(\d{1,5}))?$/i.exec(host);
  if (match === null || !loopbackNames.test(match[1]!)) return false;
  return port === null || Number(match[2] ?? 80) === port;
}

const digest = (text: string) => createHash('sha256').update(text).digest();
