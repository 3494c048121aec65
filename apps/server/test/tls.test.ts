/** TLS, which is configured by two files, and invalid settings. */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.ts';
import { ServerProcess } from './server-process.ts';
import { makeDataDir } from './start-app.ts';

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
const TLS_CERT = fixture('localhost-cert.pem');
const TLS_KEY = fixture('localhost-key.pem');

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: string;
}

function call(url: string, method: string, headers: Record<string, string>, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, ca: readFileSync(TLS_CERT) }, async (response) => {
      let text = '';
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode!, headers: response.headers, body: text });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

it('the server speaks TLS, and its cookie is sent over TLS only', async () => {
  const server = new ServerProcess({ DATA_DIR: makeDataDir(), TLS_CERT, TLS_KEY, SHARDLAB_KEY: 'k' });
  const url = await server.ready();
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const json = { 'content-type': 'application/json' };
  const login = await call(`${url}/api/session`, 'POST', { ...json, origin: url }, '{"key":"k"}');
  expect([login.status, String(login.headers['set-cookie'])]).toEqual([
    200,
    expect.stringMatching(/; HttpOnly; SameSite=Strict; .*; Secure$/),
  ]);
  const cookie = String(login.headers['set-cookie']).split(';')[0]!;
  expect((await call(`${url}/api/health`, 'GET', { cookie })).status).toBe(200);
  const plainOrigin = { cookie, ...json, origin: url.replace('https', 'http') };
  expect((await call(`${url}/api/queues`, 'POST', plainOrigin, '{"name":"q"}')).status).toBe(403);
  await expect(fetch(url.replace('https', 'http'))).rejects.toThrow();
});

describe('TLS_CERT and TLS_KEY', () => {
  const faults: [what: string, env: Record<string, string>, sentence: RegExp][] = [
    ['the key is missing', { TLS_CERT }, /TLS_CERT and TLS_KEY belong together; TLS_KEY is not set/],
    ['the certificate is missing', { TLS_KEY }, /TLS_CERT is not set/],
    [
      'a file is not there',
      { TLS_CERT, TLS_KEY: '/no/such.pem' },
      /TLS_KEY=\/no\/such\.pem cannot be read: ENOENT/,
    ],
    ['a file is a folder', { TLS_CERT: '/', TLS_KEY }, /TLS_CERT=\/ cannot be read: EISDIR/],
    [
      'the key is of another certificate',
      { TLS_CERT, TLS_KEY: fixture('other-key.pem') },
      /not a certificate and its private key/,
    ],
    ['a file is no PEM', { TLS_CERT: fileURLToPath(import.meta.url), TLS_KEY }, /not a certificate/],
    ['they are swapped', { TLS_CERT: TLS_KEY, TLS_KEY: TLS_CERT }, /not a certificate/],
  ];
  it.each(faults)('make the start fail if %s', (_what, env, sentence) => {
    expect(() => readConfig(env)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(() => readConfig(env)).toThrow(sentence);
  });

  it('provide the certificate of the file', () => {
    expect(readConfig({ TLS_CERT, TLS_KEY }).tls?.cert).toContain('BEGIN CERTIFICATE');
    expect(readConfig({}).tls).toBeNull();
  });
});
