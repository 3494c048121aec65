import type { ErrorBody } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.ts';
import { shareApp, startApp } from './start-app.ts';

const sharedApp = shareApp();

describe('Host and Origin', () => {
  it.each(['localhost', '127.0.0.1:1234', '[::1]:7070', 'LOCALHOST:80', '127.0.0.2'])(
    'serves %s',
    async (host) => {
      expect((await sharedApp().get('/api/health', { host })).status).toBe(200);
    },
  );

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example:7070',
    '192.168.1.5',
    'localhost:x',
  ])('refuses the Host "%s" on every address', async (host) => {
    const { get } = sharedApp();
    for (const url of ['/api/health', '/metrics', '/docs/', '/openapi.json', '/', '/nothing.txt']) {
      const { status, body } = await get<ErrorBody>(url, { host });
      expect([url, status, body.code]).toEqual([url, 403, 'HOST_REFUSED']);
    }
  });

  it('accepts a page of the server’s own origin and refuses others', async () => {
    const { post } = await startApp();
    const from = (origin: string) =>
      post<ErrorBody>('/api/queues', { name: 'q' }, { host: 'localhost:7070', origin });
    expect((await from('http://localhost:7070')).status).toBe(201);
    for (const origin of ['http://localhost:7071', 'https://localhost:7070', 'http://evil.example', 'null']) {
      const { status, body } = await from(origin);
      expect([origin, status, body.code]).toEqual([origin, 403, 'ORIGIN_REFUSED']);
    }
  });

  it('lets a page of another site change nothing, with any method', async () => {
    const { app, get, post } = await startApp();
    await post('/api/queues', { name: 'q' });
    const { body } = await get<{ paths: Record<string, Record<string, unknown>> }>('/openapi.json');
    const routes = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method, url: path.replaceAll(/\{\w+\}/g, 'q') })),
    );
    const changing = routes.filter(({ method }) => method !== 'get');
    expect(changing.length).toBeGreaterThan(20);
    for (const { method, url } of changing) {
      for (const site of ['cross-site', 'same-site', 'something-new']) {
        const headers = { host: 'localhost', 'sec-fetch-site': site };
        const answer = await app.inject({ method: method.toUpperCase() as 'POST', url, headers });
        expect([url, site, answer.statusCode, answer.json().code]).toEqual([
          url,
          site,
          403,
          'ORIGIN_REFUSED',
        ]);
      }
    }
    for (const site of ['same-origin', 'none', undefined]) {
      const headers = site === undefined ? {} : { 'sec-fetch-site': site };
      expect((await post('/api/queues/q/stop', { enqueue: true }, headers)).status).toBe(200);
    }
    expect((await get('/api/queues/q', { 'sec-fetch-site': 'cross-site' })).status).toBe(200);
  });

  it('checks the port once the server listens', async () => {
    const { app } = await startApp();
    const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
    const get = (host: string) => app.inject({ url: '/api/health', headers: { host } });
    expect((await get(`localhost:${url.port}`)).statusCode).toBe(200);
    expect((await get('localhost')).statusCode).toBe(403);
    expect((await get(`localhost:${Number(url.port) + 1}`)).statusCode).toBe(403);
  });
});

describe('a key', () => {
  it('must be sent with every request, whichever name the server is addressed by', async () => {
    const { get } = await startApp({ key: 'open sesame' });
    for (const url of ['/api/queues', '/', '/docs/', '/api/cluster']) {
      const { status, body, headers } = await get<ErrorBody>(url);
      expect([url, status, body.code]).toEqual([url, 401, 'KEY_REQUIRED']);
      expect(headers['www-authenticate']).toBe('Bearer');
    }
    const host = 'lab.example';
    expect((await get('/api/health', { host, authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await get('/api/queues', { host, authorization: 'open sesame' })).status).toBe(401);
    for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
      expect((await get('/api/queues', { host, authorization: `${scheme} open sesame` })).status).toBe(200);
    }
  });

  it('is not needed by probes, which then get no details, and by nothing else at their addresses', async () => {
    const { app, get } = await startApp({ key: 'open sesame' });
    const host = '10.0.0.7:7070'; // as a load balancer addresses it
    for (const url of ['/api/health/live', '/api/health/ready', '/api/health']) {
      expect(await get(url, { host })).toMatchObject({ status: 200, body: { status: 'ok' } });
      expect(Object.keys((await get<object>(url, { host })).body)).toEqual(['status']);
      const { body } = await get<object>(url, { host, authorization: 'Bearer open sesame' });
      expect(Object.keys(body)).toContain('uptimeMs');
      expect((await get(url, { host, authorization: 'Bearer wrong' })).status).toBe(401);
      expect((await app.inject({ method: 'POST', url, headers: { host } })).statusCode).toBe(401);
    }
    const metrics = await get('/metrics', { host, accept: 'text/html' });
    expect([metrics.status, String(metrics.body)]).toEqual([
      200,
      expect.stringContaining('shardlab_instance_up'),
    ]);
  });
});

describe('the environment', () => {
  it('defaults to the loopback address, port 7070 and ./data', () => {
    expect(readConfig({})).toMatchObject({ host: '127.0.0.1', port: 7070, key: null });
    expect(readConfig({}).dataDir).toMatch(/\/data$/);
  });

  it('refuses a wider host without a key', () => {
    for (const HOST of ['0.0.0.0', '::', '192.168.1.5', 'lab.example']) {
      expect(() => readConfig({ HOST })).toThrow(/SHARDLAB_KEY/);
      expect(readConfig({ HOST, SHARDLAB_KEY: 'k' })).toMatchObject({ host: HOST, key: 'k' });
    }
    expect(() => readConfig({ HOST: '0.0.0.0', SHARDLAB_KEY: '' })).toThrow(/SHARDLAB_KEY/);
  });

  it.each(['x', '-1', '65536', '1e3', ' 80'])('refuses the port "%s"', (PORT) => {
    expect(() => readConfig({ PORT })).toThrow(/0 to 65535/);
  });
});
