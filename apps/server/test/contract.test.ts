/** Answers of routes match the contract, and the API's description lists every route. */

import { Validator } from '@seriousme/openapi-schema-validator';
import * as contract from '@shardlab/contract';
import { Ajv, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { runToEnd, smallScenario, startApp, type TestApp } from './start-app.ts';

const ajv = new Ajv({ allErrors: true, strict: false });

async function prepared(): Promise<{ test: TestApp; runId: string }> {
  const test = await startApp();
  const { id } = await runToEnd(test, smallScenario());
  await test.postText('/api/scenarios', JSON.stringify(smallScenario()));
  await test.post('/api/queues', { name: 'q' });
  const marks = { correlationId: 'c', groupKey: 'g', properties: { a: 'b' } };
  await test.post('/api/queues/q/messages', {
    messages: [{ payload: 1, ...marks }, { payloadBase64: 'AA==' }],
  });
  return { test, runId: id };
}

describe('answers', () => {
  it('match the contract', async () => {
    const { test, runId } = await prepared();
    const { get, post, postText } = test;
    const scenario = JSON.stringify(smallScenario());
    const marked = { payload: 1, recipients: ['s'] };
    const answers: [schema: object, answer: { status: number; body: unknown }][] = [
      [contract.Health, await get('/api/health')],
      [contract.BrowserSession, await get('/api/session')],
      [contract.Cluster, await get('/api/cluster')],
      [contract.ServiceList, await get('/api/services')],
      [contract.ScenarioList, await get('/api/scenarios')],
      [contract.ScenarioEntry, await get('/api/scenarios/small')],
      [contract.ScenarioEntry, await get('/api/scenarios/lesson-xa')],
      [contract.LessonList, await get('/api/lessons')],
      [contract.ScenarioValidation, await postText('/api/scenarios/validate', scenario)],
      [contract.ScenarioValidation, await postText('/api/scenarios/validate', '{')],
      [contract.Id, await postText('/api/scenarios', scenario)],
      [contract.InvalidBody, await postText('/api/scenarios', '{}')],
      [contract.InvalidBody, await post('/api/queues', {})],
      [contract.ErrorBody, await get('/api/nope')],
      [contract.Run, await get(`/api/runs/${runId}`)],
      [contract.ExportedRun, await get(`/api/runs/${runId}/export`)],
      [contract.RunList, await get('/api/runs')],
      [contract.ClaimLedger, await get('/api/claims')],
      [contract.HardwareList, await get('/api/hardware')],
      [contract.MachineState, await get('/api/machine')],
      [contract.CalibrationAnswer, await get('/api/calibration')],
      [contract.MeasuredWorkloadList, await get('/api/measured-workloads')],
      [contract.Id, await post('/api/runs', { scenario: 'small' })],
      [contract.QueueInfo, await post('/api/queues', { name: 'other', kind: 'unsharded' })],
      [contract.QueueInfo, await post('/api/queues', { name: 'topic', type: 'topic', attemptsMax: 3 })],
      [contract.SubscriberInfo, await post('/api/queues/topic/subscribers', { name: 's' })],
      [contract.SubscriberList, await get('/api/queues/topic/subscribers')],
      [contract.QueueInfo, await get('/api/queues/q')],
      [contract.QueueList, await get('/api/queues')],
      [contract.QueueStats, await get('/api/queues/q/stats')],
      [contract.QueueStats, await get('/api/queues/other/stats')],
      [contract.QueueStats, await get('/api/queues/topic/stats')],
      [contract.QueueInfo, await post('/api/queues/other/stop')],
      [contract.Conversion, await post('/api/queues/other/conversion', { shards: 2, cacheMiB: 64 })],
      [contract.ConversionAnswer, await get('/api/queues/other/conversion')],
      [contract.ConversionAnswer, await get('/api/queues/q/conversion')],
      [contract.Enqueued, await post('/api/queues/q/messages', { messages: [{ payload: 1 }] })],
      [contract.Browsed, await get('/api/queues/q/messages?limit=1')],
      [contract.Enqueued, await post('/api/queues/topic/messages', { messages: [marked] })],
      [contract.MessageTrace, await get('/api/queues/q/messages/100.1/trace')],
      [contract.MessageTrace, await get('/api/queues/topic/messages/100.1/trace')],
      [contract.TracedMessages, await get('/api/queues/q/traces')],
      [contract.Browsed, await get('/api/queues/topic/messages?subscriber=s')],
      [contract.Dequeued, await post('/api/queues/topic/dequeue', { subscriber: 's' })],
      [contract.Dequeued, await post('/api/queues/q/dequeue', { max: 1 })],
      [contract.Dequeued, await post('/api/queues/q/dequeue', { max: 9, mode: 'at-most-once' })],
    ];
    for (const [index, [schema, { body }]] of answers.entries()) {
      const validate = ajv.compile(schema);
      validate(body);
      expect([index, validate.errors]).toEqual([index, null]);
    }
  });

  it('of a stream are events of the contract', async () => {
    const { test, runId } = await prepared();
    const { body } = await test.get<string>(`/api/runs/${runId}/events`);
    const validate = ajv.compile(contract.RunEvent);
    const events = [...body.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!));
    expect(events).toHaveLength(2);
    for (const event of events) {
      validate(event);
      expect(validate.errors).toBeNull();
    }
  });
});

describe('the description of the API', () => {
  it('is a valid document of OpenAPI 3.1', async () => {
    const { get } = await startApp();
    const { body } = await get<Record<string, unknown>>('/openapi.json');
    const { valid, errors } = await new Validator().validate(body);
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
  });

  it('has schemas of JSON Schema 2020-12 only', async () => {
    const { get } = await startApp();
    const { body } = await get<object>('/openapi.json');
    // `strictTypes` and `strictRequired` concern style only; unknown keywords and formats must be found.
    const strict = ajvFor(body, { strict: true, strictTypes: false, strictRequired: false });
    const schemas = schemasOf(body);
    expect(schemas.length).toBeGreaterThan(300);
    for (const schema of schemas) expectCompiles(strict, schema);
  });

  it('has schemas of requests that compile, which the server would notice only at their first use', async () => {
    const { get } = await startApp();
    const { body } = await get<{ paths: Described }>('/openapi.json');
    const strict = ajvFor(body, { strict: true });
    const operations = Object.values(body.paths).flatMap((methods) => Object.values(methods));
    const schemas = operations.flatMap(({ parameters = [], requestBody }) => [
      ...parameters.map(({ schema }) => schema),
      ...Object.values(requestBody?.content ?? {}).map(({ schema }) => schema),
    ]);
    expect(schemas.length).toBeGreaterThan(60);
    for (const schema of schemas) expectCompiles(strict, schema);
  });

  it('lists the error statuses of each kind of route', async () => {
    const { get } = await startApp();
    const { body } = await get<{ paths: Described }>('/openapi.json');
    const statuses = (path: string, method: string) => Object.keys(body.paths[path]![method]!.responses);
    const ofAll = ['400', '401', '403', '429', '431', '500', '503'];
    expect(statuses('/api/claims', 'get')).toEqual(['200', ...ofAll]);
    expect(statuses('/api/queues/{queue}/messages', 'post')).toEqual(
      ['201', ...ofAll, '404', '408', '409', '413', '415', '422'].sort(),
    );
    expect(body.paths['/api/cluster/load']!.post!.requestBody?.required).toBe(false);
    expect(body.paths['/api/queues']!.post!.requestBody?.required).toBe(true);
  });

  it('lists every route that there is, with a summary each', async () => {
    const { get, app } = await startApp();
    const { body } = await get<{
      openapi: string;
      paths: Record<string, Record<string, { summary?: string }>>;
    }>('/openapi.json');
    expect(body.openapi).toMatch(/^3\./);
    const described = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(
      [
        'GET /api/health',
        'GET /api/health/live',
        'GET /api/health/ready',
        'GET /api/hardware',
        'GET /api/machine',
        'GET /api/measured-workloads',
        'GET /api/calibration',
        'POST /api/calibration',
        'DELETE /api/calibration',
        'GET /metrics',
        'GET /api/session',
        'POST /api/session',
        'DELETE /api/session',
        'GET /api/cluster',
        'GET /api/cluster/events',
        'GET /api/cluster/load',
        'POST /api/cluster/load',
        'DELETE /api/cluster/load',
        'PUT /api/cluster/topology',
        'POST /api/cluster/instances/{instance}/kill',
        'POST /api/cluster/instances/{instance}/stop',
        'POST /api/cluster/instances/{instance}/start',
        'GET /api/claims',
        'GET /api/store',
        'GET /api/studies',
        'GET /api/waits',
        'GET /api/services',
        'POST /api/services/{service}/call',
        'GET /api/lessons',
        'GET /api/scenarios',
        'GET /api/scenario-schema',
        'POST /api/transactions',
        'POST /api/scenarios',
        'POST /api/scenarios/validate',
        'GET /api/scenarios/{id}',
        'DELETE /api/scenarios/{id}',
        'GET /api/runs',
        'POST /api/runs',
        'GET /api/runs/recorded',
        'POST /api/runs/import',
        'PUT /api/runs/{id}/labels',
        'GET /api/runs/{id}',
        'DELETE /api/runs/{id}',
        'GET /api/runs/{id}/events',
        'GET /api/runs/{id}/export',
        'POST /api/runs/{id}/cancel',
        'POST /api/runs/{id}/resume',
        'GET /api/queue-histories',
        'GET /api/queues',
        'POST /api/queues',
        'GET /api/queues/{queue}',
        'DELETE /api/queues/{queue}',
        'POST /api/queues/{queue}/redrive',
        'POST /api/queues/{queue}/start',
        'POST /api/queues/{queue}/stop',
        'GET /api/queues/{queue}/conversion',
        'POST /api/queues/{queue}/conversion',
        'DELETE /api/queues/{queue}/conversion',
        'GET /api/queues/{queue}/subscribers',
        'POST /api/queues/{queue}/subscribers',
        'DELETE /api/queues/{queue}/subscribers/{subscriber}',
        'GET /api/queues/{queue}/history',
        'GET /api/queues/{queue}/messages',
        'GET /api/queues/{queue}/messages/{message}/trace',
        'GET /api/queues/{queue}/traces',
        'POST /api/queues/{queue}/traces',
        'GET /api/queues/{queue}/stats',
        'GET /api/queues/{queue}/payload',
        'POST /api/queues/{queue}/messages',
        'POST /api/queues/{queue}/messages/stream',
        'POST /api/queues/{queue}/dequeue',
        'POST /api/queues/{queue}/ack',
        'POST /api/queues/{queue}/nack',
        'POST /api/queues/{queue}/extend',
      ].sort(),
    );
    for (const [path, methods] of Object.entries(body.paths)) {
      for (const [method, { summary }] of Object.entries(methods)) {
        expect(summary, `${method} ${path}`).toBeTruthy();
        const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
        expect(app.hasRoute({ method: method.toUpperCase() as 'GET', url })).toBe(true);
      }
    }
  });
});

interface Operation {
  responses: object;
  parameters?: { schema: object }[];
  requestBody?: { required: boolean; content: Record<string, { schema: object }> };
}

type Described = Record<string, Record<string, Operation>>;

/** The values of all keys `schema`, at any depth. */
function schemasOf(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === 'schema' ? [inner] : schemasOf(inner)));
}

function ajvFor(description: object, options: Options): Ajv2020 {
  const strict = new Ajv2020(options);
  // These formats are defined by OpenAPI, not by JSON Schema.
  for (const format of ['binary', 'byte']) strict.addFormat(format, true);
  strict.addVocabulary(['components']);
  const { components } = description as { components: object };
  return strict.addSchema({ $id: 'document', components }, 'document');
}

function expectCompiles(strict: Ajv2020, schema: object): void {
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/');
  expect(() => strict.compile(JSON.parse(text)), text.slice(0, 500)).not.toThrow();
}
