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

/** What load balancers and scrapers ask, which have no key to send. Its routes answer with less to clients that are not admitted. */
const probes = /^\/(api\/health(\/(live|ready))?|metrics)\/?$/;

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether there is no key, or the client has shown it. */
    isAdmitted: boolean;
  }
}

/**
 * Returns a check that sets `isAdmitted`, and throws `REQUEST_INVALID`, `HOST_REFUSED`, `ORIGIN_REFUSED`, `KEY_REQUIRED`, `KEY_WRONG`
 * or `KEY_GUESSES_SLOWED`.
 */
export function createGuard({ keyCheck, sessions, scheme, port }: GuardOptions) {
  return (request: FastifyRequest): void => {
    const { headers, method } = request;
    const { host, origin } = headers;
    // Node takes the first of them, and a proxy before it may have checked the last.
    if (countHosts(request) > 1)
      throw new ServerError('REQUEST_INVALID', { message: 'There is more than one Host header' });
    if (keyCheck !== null) request.isAdmitted = admit(request, keyCheck, sessions);
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

/** Returns whether the client has shown the key. Throws unless the address may be requested without it. */
function admit(
  request: FastifyRequest,
  keyCheck: Pick<KeyCheck, 'assertRight'>,
  sessions: BrowserSessions,
): boolean {
  const { headers, method, url, ip } = request;
  const path = url.split('?')[0]!;
  if (isSafe(method) && publicFiles.test(path)) return false;
  if (method === 'POST' && path === '/api/session') return false; // checks the key that it carries
  if (sessions.remainingMs(headers.cookie) !== null) return true;
  // The name of a scheme is in any case, and any number of spaces follow (RFC 9110, 11.1 and 11.4).
  const [, key] = /^Bearer +(.*)$/is.exec(headers.authorization ?? '') ?? [];
  if (key !== undefined) {
    keyCheck.assertRight(ip, key);
    return true;
  }
  if (isSafe(method) && probes.test(path)) return false;
  throw new ServerError('KEY_REQUIRED');
}

const countHosts = ({ raw }: FastifyRequest) =>
  raw.rawHeaders.reduce((count, name, at) => count + Number(at % 2 === 0 && /^host$/i.test(name)), 0);

const isSafe = (method: string) => method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

/** Without the header the client is no browser. `same-site` is another port or name, so another program's page. */
const isOwnSite = (site: string | string[] | undefined) =>
  site === undefined || site === 'same-origin' || site === 'none';

function isLoopback(host: string, port: number | null, scheme: GuardOptions['scheme']): boolean {
  const match = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+?)(?::(\d{1,5}))?$/i.exec(host);
  if (match === null || !loopbackNames.test(match[1]!)) return false;
  return port === null || Number(match[2] ?? (scheme === 'https' ? 443 : 80)) === port;
}
