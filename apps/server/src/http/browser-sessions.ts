/**
 * Sessions of browsers, which cannot send the key with every request. The cookie holds a random id and nothing else; what it
 * stands for is kept here, in memory, so a restart ends all sessions.
 */
import { createHash, randomBytes } from 'node:crypto';
import { limits } from '../limits.ts';

export interface BrowserSessionsOptions {
  /** Whether the server is reached by TLS: then the cookie travels only so. */
  secure: boolean;
  /** Monotonic milliseconds. */
  nowMs: () => number;
}

const cookieName = 'shardlab_session';

export class BrowserSessions {
  readonly #options: BrowserSessionsOptions;
  /**
   * Expiry of each session by the digest of its id, oldest first. The digest is the key so that no lookup compares ids byte by
   * byte.
   */
  readonly #expiresAtMs = new Map<string, number>();

  constructor(options: BrowserSessionsOptions) {
    this.#options = options;
  }

  /** Begins a session and returns the header that gives it to the browser. */
  begin(): { setCookie: string; remainingMs: number } {
    const id = randomBytes(32).toString('base64url');
    const { sessionMs, sessionsMax } = limits.browser;
    this.#expiresAtMs.set(digest(id), this.#options.nowMs() + sessionMs);
    const [oldest] = this.#expiresAtMs.keys();
    if (this.#expiresAtMs.size > sessionsMax) this.#expiresAtMs.delete(oldest!);
    return { setCookie: this.#cookie(id, sessionMs / 1000), remainingMs: sessionMs };
  }

  /** How long the session of a `Cookie` header lasts; null if there is none. */
  remainingMs(cookies: string | undefined): number | null {
    const id = sessionIdIn(cookies);
    const expiresAtMs = id === undefined ? undefined : this.#expiresAtMs.get(digest(id));
    if (expiresAtMs === undefined) return null;
    const remainingMs = expiresAtMs - this.#options.nowMs();
    return remainingMs > 0 ? remainingMs : null;
  }

  /** Ends the session, if there is one, and returns the header that makes the browser forget it. */
  end(cookies: string | undefined): string {
    const id = sessionIdIn(cookies);
    if (id !== undefined) this.#expiresAtMs.delete(digest(id));
    return this.#cookie('', 0);
  }

  #cookie(value: string, maxAgeS: number): string {
    const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${maxAgeS}`];
    if (this.#options.secure) attributes.push('Secure');
    return `${cookieName}=${value}; ${attributes.join('; ')}`;
  }
}

const inCookies = new RegExp(`(?:^|;)\\s*${cookieName}=([\\w-]{43})\\s*(?:;|$)`);
const sessionIdIn = (cookies = '') => inCookies.exec(cookies)?.[1];
const digest = (id: string) => createHash('sha256').update(id).digest('base64');
