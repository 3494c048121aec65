/** Answers are compressed for clients that ask for it, where that is worth it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { makeDataDir, shareApp, startApp } from './start-app.ts';

const sharedApp = shareApp();

const ask = async (url: string, acceptEncoding?: string, app = sharedApp().app) => {
  const headers = {
    host: 'localhost',
    ...(acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }),
  };
  return app.inject({ url, headers });
};

describe('an answer', () => {
  it.each(['/openapi.json', '/metrics', '/api/scenarios'])('of %s is compressed on request', async (url) => {
    const plain = await ask(url);
    const zipped = await ask(url, 'br, gzip;q=0.5');
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(zipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
    expect(plain.headers.vary).toBe('accept-encoding');
    expect(zipped.headers['content-type']).toBe(plain.headers['content-type']);
    expect(zipped.rawPayload.length).toBeLessThan(plain.rawPayload.length / 3);
    const unzipped = gunzipSync(zipped.rawPayload).toString();
    if (url === '/metrics') expect(unzipped).toContain('shardlab_instance_up');
    else expect(unzipped).toBe(plain.body);
  });

  it('stays as it is for clients that accept no gzip, and where it is small', async () => {
    for (const accepted of ['br', 'gzip;q=0', 'identity', 'nonsense;;', '']) {
      const { headers } = await ask('/openapi.json', accepted);
      expect([accepted, headers['content-encoding']]).toEqual([accepted, undefined]);
    }
    for (const url of ['/api/health', '/api/queues', '/api/queues/nope']) {
      expect((await ask(url, 'gzip')).headers).not.toHaveProperty('content-encoding');
    }
  });

  it('with messages is the same, compressed or not, and of a dequeue never compressed', async () => {
    const { app, post } = sharedApp();
    await post('/api/queues', { name: 'zipped' });
    const messages = Array.from({ length: 100 }, (_, index) => ({
      payload: { index, text: 'x'.repeat(100) },
    }));
    await post('/api/queues/zipped/messages', { messages });
    const { rawPayload } = await ask('/api/queues/zipped/messages', 'gzip');
    expect(gunzipSync(rawPayload).toString()).toBe((await ask('/api/queues/zipped/messages')).body);
    const taken = await app.inject({
      method: 'POST',
      url: '/api/queues/zipped/dequeue',
      headers: { host: 'localhost', 'accept-encoding': 'gzip' },
      payload: { max: 100 },
    });
    expect(taken.headers).not.toHaveProperty('content-encoding');
    expect(taken.json().messages).toHaveLength(100);
  });
});

it('files of the dashboard are sent as the build has compressed them', async () => {
  const webDir = join(makeDataDir(), 'dist');
  mkdirSync(join(webDir, 'assets'), { recursive: true });
  const [page, script] = ['<!doctype html><title>Shardlab</title>', 'export const large = 1;'];
  for (const [name, text] of [
    ['index.html', page],
    ['assets/index-a1b2c3.js', script],
  ] as const) {
    writeFileSync(join(webDir, name), text);
    writeFileSync(join(webDir, `${name}.br`), brotliCompressSync(text));
    writeFileSync(join(webDir, `${name}.gz`), gzipSync(text));
  }
  const { app } = await startApp({ webDir });
  for (const [url, text, cache] of [
    ['/', page, 'no-cache'],
    ['/runs/any', page, 'no-cache'],
    ['/assets/index-a1b2c3.js', script, 'public, max-age=31536000, immutable'],
  ] as const) {
    const plain = await ask(url, undefined, app);
    expect([url, plain.body, plain.headers['content-encoding']]).toEqual([url, text, undefined]);
    const zipped = await ask(url, 'gzip', app);
    expect([url, gunzipSync(zipped.rawPayload).toString()]).toEqual([url, text]);
    expect((await ask(url, 'gzip, deflate, br', app)).headers).toMatchObject({
      'content-encoding': 'br',
      'content-type': plain.headers['content-type'],
      'cache-control': cache,
      vary: expect.stringMatching(/accept-encoding/i),
    });
  }
});
