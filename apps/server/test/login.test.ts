/** The key of a server: how browsers log in with it, and what wrong ones cause. */
import type { BrowserSession, ErrorBody } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { KeyCheck } from '../src/http/key-check.ts';
import { limits } from '../src/limits.ts';
import { startApp, type TestApp } from './start-app.ts';

const key = 'open sesame';
const url = '/api/session';

/** An app with a key, and a clock that only the test moves. */
async function startWithKey() {
  const clock = { ms: 1_000 };
  const test = await startApp({ key, monotonicMs: () => clock.ms });
  return { test, clock };
}

async function login({ post }: TestApp): Promise<string> {
  const { status, headers } = await post(url, { key });
  expect(status).toBe(200);
  return String(headers['set-cookie']).split(';')[0]!;
}

describe('a browser', () => {
  it('gets a session for the key, in a strict cookie that no script reads', async () => {
    const { test } = await startWithKey();
    const { status, body, headers } = await test.post<BrowserSession>(url, { key });
    expect([status, body.keyRequired]).toEqual([200, true]);
    expect(body.expiresAtMs! - Date.now()).toBeGreaterThan(limits.browser.sessionMs - 60_000);
    const [cookie, ...attributes] = String(headers['set-cookie']).split('; ');
    expect(cookie).toMatch(/^shardlab_session=[\w-]{43}$/);
    expect(attributes).toEqual(['Path=/', 'HttpOnly', 'SameSite=Strict', 'Max-Age=43200']);
    expect(await login(test)).not.toBe(cookie);
  });

  it('has access to pages, the API and event streams with its session', async () => {
    const { test } = await startWithKey();
    const cookie = await login(test);
    for (const path of ['/api/health', '/api/queues', '/metrics', '/openapi.json', url]) {
      expect([path, (await test.get(path, { cookie })).status]).toEqual([path, 200]);
    }
    expect((await test.post('/api/queues', { name: 'q' }, { cookie })).status).toBe(201);
    // The stream of an unknown run answers 404, and so does not keep the request open; without access it would be 401.
    const missing = await test.get<ErrorBody>('/api/runs/none/events', { cookie: `other=1; ${cookie}` });
    expect([missing.status, missing.body.code]).toEqual([404, 'RUN_NOT_FOUND']);
  });

  it('is redirected to the login by every page, but not by the API', async () => {
    const { test } = await startWithKey();
    const accept = 'text/html,application/xhtml+xml';
    for (const page of ['/', '/queues?queue=a', '/docs/', '/no/such/page']) {
      const { status, headers } = await test.get(page, { accept });
      expect([page, status, headers.location]).toEqual([
        page,
        303,
        `/login?next=${encodeURIComponent(page)}`,
      ]);
    }
    expect((await test.get('/api/queues', { accept })).status).toBe(401);
    for (const open of ['/login', '/theme.js', '/icon.svg']) {
      expect([open, [401, 303].includes((await test.get(open, { accept })).status)]).toEqual([open, false]);
    }
    for (const closed of [
      '/index.html',
      '/assets/../index.html',
      '/login/../api/queues',
      '/assets/..%2findex.html',
    ]) {
      expect([closed, (await test.get(closed)).status]).toEqual([closed, 401]);
    }
  });

  it('loses its session when it logs out, and at the end of its time', async () => {
    const { test, clock } = await startWithKey();
    const [first, second] = [await login(test), await login(test)];
    const headers = { host: '127.0.0.1', cookie: first };
    const left = await test.app.inject({ method: 'DELETE', url, headers });
    expect([left.statusCode, left.headers['set-cookie']]).toEqual([
      204,
      'shardlab_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    ]);
    expect((await test.get('/api/queues', { cookie: first })).status).toBe(401);
    clock.ms += limits.browser.sessionMs - 1;
    expect((await test.get('/api/queues', { cookie: second })).status).toBe(200);
    clock.ms += 1;
    expect((await test.get('/api/queues', { cookie: second })).status).toBe(401);
  });

  it('is refused on behalf of a page of another site, with a cookie or without', async () => {
    const { test } = await startWithKey();
    const cookie = await login(test);
    for (const headers of [{ origin: 'http://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      for (const [path, body] of [
        [url, { key }],
        ['/api/queues', { name: 'q' }],
      ] as const) {
        const answer = await test.post<ErrorBody>(path, body, { cookie, ...headers });
        expect([path, answer.status, answer.body.code]).toEqual([path, 403, 'ORIGIN_REFUSED']);
      }
    }
  });

  it('needs no session if the server has no key', async () => {
    const test = await startApp();
    for (const answer of [await test.get(url), await test.post(url, { key: 'any' })]) {
      expect(answer).toMatchObject({ status: 200, body: { keyRequired: false, expiresAtMs: null } });
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
  });
});

describe('wrong keys', () => {
  const wrong = (index: number) => `wrong ${index}`;

  it('make an address wait longer and longer, and never lock out the right key', async () => {
    const { test, clock } = await startWithKey();
    const byLogin = (guess: string) => test.post<ErrorBody>(url, { key: guess });
    const byHeader = (guess: string) =>
      test.get<ErrorBody>('/api/health', { authorization: `Bearer ${guess}` });
    expect((await byLogin(wrong(1))).body.code).toBe('KEY_WRONG');
    expect((await byHeader(wrong(2))).body.code).toBe('KEY_WRONG');
    expect((await byLogin(wrong(3))).body.code).toBe('KEY_WRONG');
    for (const waitMs of [1_000, 2_000, 4_000]) {
      const refused = await byHeader(wrong(0));
      expect([refused.status, refused.body.code]).toEqual([429, 'KEY_GUESSES_SLOWED']);
      expect(refused.headers['retry-after']).toBe(String(waitMs / 1000));
      expect((await byLogin(wrong(0))).status).toBe(429);
      expect((await byHeader(key)).status).toBe(200);
      expect((await byLogin(key)).status).toBe(200);
      clock.ms += waitMs;
      expect((await byHeader(wrong(waitMs))).status).toBe(401);
    }
  });

  it('that are repeated are refused without a wait', async () => {
    const { test } = await startWithKey();
    for (let index = 0; index < 50; index += 1) {
      const { status } = await test.get('/api/health', { authorization: 'Bearer of last year' });
      expect(status).toBe(401);
    }
  });

  it('of one IPv6 network count as those of one address', () => {
    const check = new KeyCheck({ key, nowMs: () => 0 });
    for (const host of ['1', '2:3', 'ffff:1:2:3']) {
      expect(() =>
        check.assertRight(`2001:db8:1:2::${host}`.replace('::ffff', ':ffff'), wrong(host.length)),
      ).toThrow(expect.objectContaining({ code: 'KEY_WRONG' }));
    }
    const withCode = (code: string) => expect.objectContaining({ code });
    expect(() => check.assertRight('2001:db8:1:2::9', wrong(9))).toThrow(withCode('KEY_GUESSES_SLOWED'));
    expect(() => check.assertRight('2001:db8:1:3::9', wrong(9))).toThrow(withCode('KEY_WRONG'));
  });
});
