import type { ErrorBody } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { shareApp } from './start-app.ts';

const sharedApp = shareApp();

async function inject(method: string, url: string, options: object = {}) {
  const { app } = sharedApp();
  const answer = await app.inject({
    method: method as 'GET',
    url,
    headers: { host: '127.0.0.1' },
    ...options,
  });
  return { status: answer.statusCode, allow: answer.headers.allow, body: answer.json<ErrorBody>() };
}

describe('a method that an address does not have', () => {
  it.each([
    ['PUT', '/api/queues', 'GET, HEAD, POST'],
    ['PATCH', '/api/queues/q', 'DELETE, GET, HEAD'],
    ['GET', '/api/queues/q/ack', 'POST'],
    ['GET', '/api/queues/q/ack/?x=1', 'POST'],
    ['OPTIONS', '/api/scenarios/validate', 'POST'],
    ['TRACE', '/metrics', 'GET, HEAD'],
    ['POST', '/openapi.json', 'GET, HEAD'],
  ])('%s %s is refused with the methods that there are', async (method, url, allow) => {
    expect(await inject(method, url)).toMatchObject({
      status: 405,
      allow,
      body: { code: 'METHOD_NOT_ALLOWED' },
    });
  });

  it('is refused with any body', async () => {
    const answer = await inject('PUT', '/api/queues', {
      headers: { host: '127.0.0.1', 'content-type': 'text/plain' },
      payload: 'x',
    });
    expect(answer).toMatchObject({ status: 405, body: { code: 'METHOD_NOT_ALLOWED' } });
  });

  it('is 404 if there is no such address, and a page of another origin is refused before that', async () => {
    expect(await inject('PUT', '/api/nope')).toMatchObject({
      status: 404,
      body: { code: 'ROUTE_NOT_FOUND' },
    });
    const foreign = { headers: { host: '127.0.0.1', origin: 'http://elsewhere.example' } };
    expect(await inject('PUT', '/api/queues', foreign)).toMatchObject({ status: 403 });
  });
});
