/** Singleton services over REST, with one instance inside the server and with processes that are killed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cluster, Health, ServiceList } from '@shardlab/contract';
import { describe, expect, it, vi } from 'vitest';
import { readConfig } from '../src/config.ts';
import { makeDataDir, startApp, type TestApp } from './start-app.ts';

const counterModule = fileURLToPath(new URL('./fixtures/counter-service.ts', import.meta.url));
const counter = { name: 'counter', module: counterModule, preferred: 1 };
const generous = { timeout: 30_000, interval: 50 };

const call = (test: TestApp, body: object) => test.post('/api/services/counter/call', body);

async function activeService(test: TestApp) {
  return vi.waitFor(async () => {
    const { body } = await test.get<ServiceList>('/api/services');
    expect(body.services).toMatchObject([{ name: 'counter', status: 'active' }]);
    return body.services[0]!;
  }, generous);
}

describe('singleton services', () => {
  it('are listed with their holder and called by name', async () => {
    const test = await startApp({ services: [counter] });
    expect(await activeService(test)).toMatchObject({
      preferred: 1,
      module: 'module',
      holder: { pid: process.pid, instance: 1 },
      calls: ['get', 'add', 'fail', 'block'],
      failure: null,
      history: [{ number: 1, host: 1, deactivatedAtMs: null }],
    });
    expect(await call(test, { call: 'add', argument: 8 })).toMatchObject({
      status: 200,
      body: { result: 13 },
    });
    expect(await call(test, { call: 'get' })).toMatchObject({ status: 200, body: { result: 13 } });
  });

  it('that block their process make its instance slow, which is not ready, and not killed for that', {
    timeout: 60_000,
  }, async () => {
    const test = await startApp({ services: [counter] });
    expect((await test.put('/api/cluster/topology', { instances: 2 })).status).toBe(200);
    await activeService(test);
    const released = join(makeDataDir(), 'released');
    const blocked = call(test, { call: 'block', argument: released });
    await vi.waitFor(async () => {
      const { body } = await test.get<Health>('/api/health/ready');
      expect(body).toMatchObject({
        status: 'degraded',
        instances: [{ instance: 1, state: 'failed', reason: { code: 'PROCESS_SLOW' } }, { state: 'serving' }],
      });
    }, generous);
    const { instances } = (await test.get<Cluster>('/api/cluster')).body;
    expect(instances[0]).toMatchObject({ state: 'up', unready: { code: 'PROCESS_SLOW' } });
    expect((await test.get('/api/health/live')).status).toBe(200);
    writeFileSync(released, '');
    expect((await blocked).status).toBe(200);
    await vi.waitFor(
      async () => expect((await test.get<Health>('/api/health/ready')).body.status).toBe('ok'),
      generous,
    );
    await vi.waitFor(async () => {
      const { events } = (await test.get<Cluster>('/api/cluster')).body;
      const ofOne = events.flatMap(({ instance, type }) => (instance === 1 ? [type] : []));
      expect(ofOne).toEqual(expect.arrayContaining(['process:slow', 'process:responsive']));
      expect(ofOne).not.toContain('process:ended');
    }, generous);
  });

  it('move with their instance when its process is killed', { timeout: 120_000 }, async () => {
    const test = await startApp({ services: [counter] });
    expect((await test.put('/api/cluster/topology', { instances: 2 })).status).toBe(200);
    const before = await activeService(test);
    await call(test, { call: 'add', argument: 8 });
    await test.post('/api/cluster/instances/1/kill');
    const after = await vi.waitFor(async () => {
      const service = await activeService(test);
      expect(service.holder).toMatchObject({ instance: 2 });
      return service;
    }, generous);
    expect(after.epoch).toBeGreaterThan(before.epoch!);
    expect(await call(test, { call: 'get' })).toMatchObject({ status: 200, body: { result: 5 } });
    await test.post('/api/cluster/instances/1/start');
    await vi.waitFor(
      async () => expect((await activeService(test)).holder).toMatchObject({ instance: 1 }),
      generous,
    );
  });

  it('refuse invalid calls, each kind with its status', async () => {
    const test = await startApp({ services: [counter] });
    await activeService(test);
    const refused = async (url: string, body: object) => {
      const answer = await test.post<{ code: string }>(url, body);
      return [answer.status, answer.body.code];
    };
    expect(await refused('/api/services/nobody/call', { call: 'get' })).toEqual([404, 'SERVICE_NOT_FOUND']);
    const url = '/api/services/counter/call';
    expect(await refused(url, { call: 'take' })).toEqual([404, 'SERVICE_CALL_NOT_FOUND']);
    expect(await refused(url, { call: 'fail' })).toEqual([422, 'SERVICE_CALL_FAILED']);
    expect(await refused(url, { call: 'add', argument: 'x'.repeat(300_000) })).toEqual([
      422,
      'SERVICE_CALL_INVALID',
    ]);
    expect(await refused(url, { argument: 1 })).toEqual([400, 'REQUEST_INVALID']);
  });

  it('cannot be added while the server runs, and the answer says where they are configured', async () => {
    const test = await startApp();
    const answer = await test.post<{ code: string; message: string }>('/api/services', counter);
    expect([answer.status, answer.body.code]).toEqual([422, 'FEATURE_UNSUPPORTED']);
    expect(answer.body.message).toContain('SERVICES');
  });

  it('do not exist by default', async () => {
    const test = await startApp();
    expect((await test.get('/api/services')).body).toEqual({ services: [] });
  });
});

describe('the file that SERVICES names', () => {
  const read = (content: unknown) => {
    const path = join(makeDataDir(), 'services.json');
    writeFileSync(path, JSON.stringify(content));
    return readConfig({ SERVICES: path }).services;
  };

  it('has services, with modules relative to it', () => {
    const timer = { name: 'clock', module: 'timer', options: { schedule: '* * * * *', queue: 'q' } };
    const [first, second] = read({ services: [timer, { name: 'own', module: './own.ts', preferred: 2 }] });
    expect(first).toEqual(timer);
    expect(second).toMatchObject({ name: 'own', preferred: 2 });
    expect(second!.module).toMatch(/^\/.*\/own\.ts$/);
  });

  it.each<[string, unknown]>([
    ['no list', {}],
    ['a service that is no object', { services: [1] }],
    ['a service without a module', { services: [{ name: 'a' }] }],
    ['a field that it does not know', { services: [{ name: 'a', module: 'timer', instance: 1 }] }],
  ])('is refused with %s', (_what, content) => {
    expect(() => read(content)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});
