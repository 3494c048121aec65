import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorBody } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { makeDataDir, startApp } from './start-app.ts';

/** A folder like that of a build: a page, and files whose names have a hash. */
function builtDashboard(): string {
  const webDir = join(makeDataDir(), 'dist');
  mkdirSync(join(webDir, 'assets'), { recursive: true });
  writeFileSync(join(webDir, 'index.html'), '<!doctype html><title>Shardlab</title>');
  writeFileSync(join(webDir, 'favicon.svg'), '<svg/>');
  writeFileSync(join(webDir, 'assets', 'index-a1b2c3.js'), 'export {};');
  return webDir;
}

describe('the dashboard', () => {
  it.each([
    '/',
    '/runs/abc',
    '/scenarios/first-look?scale=quick',
    '/what-if',
    '/documents/A',
    '/docs',
    '/docs/',
  ])('is the page at %s, asked for anew each time', async (url) => {
    const { get } = await startApp({ webDir: builtDashboard() });
    const { status, headers, body } = await get(url);
    expect([status, headers['cache-control']]).toEqual([200, 'no-cache']);
    expect(headers['content-type']).toMatch(/^text\/html/);
    expect(body).toContain('<title>Shardlab</title>');
  });

  it('has files that may be cached for ever if their name has a hash', async () => {
    const { get } = await startApp({ webDir: builtDashboard() });
    const script = await get('/assets/index-a1b2c3.js');
    expect(script.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(script.headers['content-type']).toMatch(/javascript/);
    expect((await get('/favicon.svg')).headers['cache-control']).toBe('no-cache');
  });

  it('is not served for missing files, for addresses of the API, or outside of its folder', async () => {
    const webDir = builtDashboard();
    writeFileSync(join(webDir, '..', 'outside.txt'), 'secret');
    const { get, post, app } = await startApp({ webDir });
    for (const url of ['/assets/old-ffff.js', '/api/nope', '/api', '/robots.txt', '/docs/nope.css']) {
      const { status, body } = await get<ErrorBody>(url);
      expect([url, status, body.code]).toEqual([url, 404, 'ROUTE_NOT_FOUND']);
    }
    expect((await post('/runs/abc', {})).status).toBe(404);
    for (const url of [
      '/../outside.txt',
      '/%2e%2e/outside.txt',
      '/assets/..%2f..%2foutside.txt',
      '/%00',
      '/%',
    ]) {
      const response = await app.inject({ url, headers: { host: 'localhost' } });
      expect(response.body).not.toContain('secret');
      expect(response.statusCode).not.toBe(500);
    }
  });

  it('may load nothing from elsewhere and run no inline script', async () => {
    const { get } = await startApp({ webDir: builtDashboard() });
    for (const url of ['/', '/api/health', '/nothing.js']) {
      const { headers } = await get(url);
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self';");
      expect(policy).not.toContain('unsafe');
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it('that is not built yet says how to build it, while the API serves', async () => {
    const { get } = await startApp({ webDir: join(makeDataDir(), 'missing') });
    expect(await get('/')).toMatchObject({ status: 503, body: { code: 'DASHBOARD_NOT_BUILT' } });
    expect((await get('/api/health')).status).toBe(200);
  });
});
