/**
 * Access control. The server trusts the users of its machine, but not web pages: DNS rebinding shows in the Host header, a page
 * of another site in the Origin and Sec-Fetch-Site headers. Images and links of other sites send neither an Origin nor anything
 * else that identifies them, so GET, HEAD and OPTIONS must not change anything. If a key is set, every request must carry it or
 * the cookie of a session. No other site can make a browser send either, so the host name does not matter then.
 */
import type { FastifyRequest } from 'fastify';
import { ServerError } from '../errors.ts';
import type { BrowserSessions } from './browser-sessions.ts';
import type { KeyCheck } from './key-check.ts';

export interface GuardOptions {
  /** Null: no key is required. */
  keyCheck: Pick<KeyCheck, 'assertRight'> | null;
  sessions: BrowserSessions;
  scheme: 'http' | 'https';
  /** The port to which the client is connected; null before the server listens. */
  port: (request: FastifyRequest) => number | null;
}

/** Names that always mean this machine, whatever a name server says. */
const loopbackNames = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

/** The login page and its files: they are the same everywhere, and reveal nothing about this server. */
const publicFiles = /^\/(login|icon\.svg|theme\.js|assets\/[\w.-]+)$/;

/**
 * Returns a check that throws `HOST_REFUSED`, `ORIGIN_REFUSED`, `KEY_REQUIRED`, `KEY_WRONG` or `KEY_GUESSES_SLOWED`.
 */
export function createGuard({ keyCheck, sessions, scheme, port }: GuardOptions) {
  return (request: FastifyRequest): void => {
    const { headers, method } = request;
    const { host, origin } = headers;
    if (keyCheck !== null) assertKey(request, keyCheck, sessions);
    else if (host === undefined || !isLoopback(host, port(request), scheme)) {
      throw new ServerError('HOST_REFUSED', { details: { host: host ?? null } });
    }
    if (origin !== undefined && origin.toLowerCase() !== `${scheme}://${host?.toLowerCase()}`) {
      throw new ServerError('ORIGIN_REFUSED', { details: { origin } });
    }
    const site = headers['sec-fetch-site'];
    if (!isSafe(method) && !isOwnSite(site)) throw new ServerError('ORIGIN_REFUSED', { details: { site } });
  };
}

function assertKey(
  request: FastifyRequest,
  keyCheck: Pick<KeyCheck, 'assertRight'>,
  sessions: BrowserSessions,
): void {
  const { headers, method, url, ip } = request;
  const path = url.split('?')[0]!;
  if (isSafe(method) && publicFiles.test(path)) return;
  if (method === 'POST' && path === '/api/session') return; // checks the key that it carries
  if (sessions.remainingMs(headers.cookie) !== null) return;
  const [, key] = /^Bearer (.*)$/s.exec(headers.authorization ?? '') ?? [];
  if (key === undefined) throw new ServerError('KEY_REQUIRED');
  keyCheck.assertRight(ip, key);
}

const isSafe = (method: string) => method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

/** Without the header the client is no browser. `same-site` is another port or name, so another program's page. */
const isOwnSite = (site: string | string[] | undefined) =>
  site === undefined || site === 'same-origin' || site === 'none';

function isLoopback(host: string, port: number | null, scheme: GuardOptions['scheme']): boolean {
  const match = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+?)(?::(\d{1,5}))?$/i.exec(host);
  if (match === null || !loopbackNames.test(match[1]!)) return false;
  return port === null || Number(match[2] ?? (scheme === 'https' ? 443 : 80)) === port;
}
