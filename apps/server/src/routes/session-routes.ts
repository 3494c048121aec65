import { BrowserSession, Login } from '@shardlab/contract';
import Type from 'typebox';
import type { App } from '../http/app-types.ts';
import type { BrowserSessions } from '../http/browser-sessions.ts';
import type { KeyCheck } from '../http/key-check.ts';

const tags = ['server'];
const url = '/api/session';

export interface SessionRoutesOptions {
  /** Null if the server has no key: everybody is in, and nothing is kept of them. */
  keyCheck: KeyCheck | null;
  sessions: BrowserSessions;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Sessions of browsers. Other clients send the key with every request. */
export function sessionRoutes(app: App, { keyCheck, sessions, now }: SessionRoutesOptions): void {
  const describe = (remainingMs: number | null): BrowserSession => ({
    keyRequired: keyCheck !== null,
    expiresAtMs: remainingMs === null ? null : Math.round(now() + remainingMs),
  });
  app.post(
    url,
    {
      schema: {
        summary: 'Log in with the key of the server; the answer sets the cookie of a session',
        tags,
        body: Login,
        response: { 200: BrowserSession },
      },
    },
    async (request, reply) => {
      if (keyCheck === null) return describe(null);
      keyCheck.assertRight(request.ip, request.body.key);
      const { setCookie, remainingMs } = sessions.begin();
      reply.header('set-cookie', setCookie);
      return describe(remainingMs);
    },
  );
  app.get(
    url,
    {
      schema: {
        summary: 'Whether there is a key, and when this session ends',
        tags,
        response: { 200: BrowserSession },
      },
    },
    async ({ headers }) => describe(sessions.remainingMs(headers.cookie)),
  );
  app.delete(
    url,
    { schema: { summary: 'Log out', tags, response: { 204: Type.Null() } } },
    async ({ headers }, reply) =>
      reply.header('set-cookie', sessions.end(headers.cookie)).code(204).send(null),
  );
}
