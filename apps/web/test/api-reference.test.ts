import { describe, expect, test } from 'vitest';
import { apiGroups, countCalls, type OpenApi, searchApi, typeInWords } from '../src/model/api-reference.ts';
import { readApiSearch } from '../src/pages/api-reference/api-search.ts';

const api: OpenApi = {
  info: { title: 'Shardlab', version: '1' },
  tags: [
    { name: 'queues', description: 'Queues of the cluster' },
    { name: 'runs', description: 'Experiments' },
    { name: 'empty' },
  ],
  components: { schemas: { Error: { type: 'object', properties: { code: { type: 'string' } } } } },
  paths: {
    '/api/services': { get: { summary: 'The services', tags: ['services'] } },
    '/api/queues': {
      get: { summary: 'All queues', tags: ['queues'] },
      post: {
        summary: 'Create a queue',
        tags: ['queues'],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['name'],
                properties: {
                  name: { type: 'string', pattern: '^[a-z]+$', description: 'Of the queue' },
                  shards: { type: 'integer', minimum: 1, maximum: 16 },
                  limits: { type: 'object', properties: { bytes: { type: 'integer' } } },
                },
              },
            },
          },
        },
        responses: {
          201: {
            description: 'Default Response',
            content: { 'application/json': { schema: { type: 'object' } } },
          },
          409: {
            description: 'It exists',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
          },
        },
      },
    },
    '/api/queues/{queue}/payload': {
      get: {
        summary: 'A payload',
        tags: ['queues'],
        parameters: [
          { name: 'queue', in: 'path', required: true, schema: { type: 'string' } },
          { name: 'receipt', in: 'query', required: true, schema: { type: 'string' }, description: 'Which' },
        ],
      },
    },
  },
};

const groups = apiGroups(api, 'http://here:7070', false);
const callOf = (id: string) => groups.flatMap(({ calls }) => calls).find((call) => call.id === id)!;

describe('the reference of the API', () => {
  test('has the groups with calls in the order of the description, then groups that it does not list', () => {
    expect(groups.map(({ name, calls }) => [name, calls.length])).toEqual([
      ['queues', 3],
      ['services', 1],
    ]);
    expect(countCalls(groups)).toBe(4);
  });

  test('shows fields with their types, and fields of fields', () => {
    const { bodies, bodyRequired, answers } = callOf('post-api-queues');
    expect(bodyRequired).toBe(true);
    expect(bodies[0]!.rows).toMatchObject([
      { name: 'name', required: true, type: 'text', description: 'Of the queue' },
      { name: 'shards', required: false, type: 'integer, 1 to 16' },
      { name: 'limits', type: 'object', rows: [{ name: 'bytes', type: 'integer' }] },
    ]);
    expect(answers.map(({ status, description }) => [status, description])).toEqual([
      ['201', ''],
      ['409', 'It exists'],
    ]);
    expect(answers[1]!.bodies[0]!.rows).toMatchObject([{ name: 'code' }]);
  });

  test('shows parameters with their places', () => {
    const { parameters } = callOf('get-api-queues-queue-payload');
    expect(parameters.map(({ place, row }) => [place, row.name, row.required, row.description])).toEqual([
      ['path', 'queue', true, ''],
      ['query', 'receipt', true, 'Which'],
    ]);
  });

  test('has an example for a shell, with the key if the server has one', () => {
    expect(callOf('get-api-queues-queue-payload').curl).toBe(
      "curl 'http://here:7070/api/queues/parcels/payload?receipt=receipt'",
    );
    const [withKey] = apiGroups(api, 'https://there', true);
    expect(withKey!.calls.find(({ id }) => id === 'post-api-queues')!.curl).toBe(
      [
        "curl -X POST 'https://there/api/queues'",
        '-H "Authorization: Bearer $SHARDLAB_KEY"',
        "-H 'content-type: application/json'",
        `-d '{"name":"name"}'`,
      ].join(' \\\n  '),
    );
  });

  test('is searched by method, path, summary, group and field', () => {
    const found = (text: string) => searchApi(groups, text).flatMap(({ calls }) => calls.map(({ id }) => id));
    expect(found('POST queues')).toEqual(['post-api-queues']);
    expect(found('receipt')).toEqual(['get-api-queues-queue-payload']);
    expect(found('shards')).toEqual(['post-api-queues']);
    expect(found('services')).toEqual(['get-api-services']);
    expect(found('  ')).toHaveLength(4);
    expect(found('no such')).toEqual([]);
  });
});

test.each([
  [
    { type: 'array', items: { type: 'string', maxLength: 64 }, minItems: 1, maxItems: 1_000 },
    'list of text, at most 64 characters, 1 to 1,000',
  ],
  [{ anyOf: [{ const: 'a' }, { const: 'b' }, { type: 'null' }] }, '"a" or "b" or null'],
  [{ type: 'object', patternProperties: { '^.*$': { type: 'number' } } }, 'object with any names of number'],
  [{ type: 'number', exclusiveMinimum: 0 }, 'number, above 0'],
  [{ type: 'string', contentEncoding: 'base64' }, 'text in base64'],
  [{}, 'any JSON'],
])('%j in words', (schema, words) => {
  expect(typeInWords(schema, () => ({}))).toBe(words);
});

test('the address of the reference has the search text and the open call', () => {
  expect(readApiSearch({ text: 'queue', call: 'get-api-queues', other: 1 })).toEqual({
    text: 'queue',
    call: 'get-api-queues',
  });
  expect(readApiSearch({ text: '', call: 5 })).toEqual({});
});
