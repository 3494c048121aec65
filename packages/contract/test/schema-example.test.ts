import { exampleOf, type JsonSchema } from '@shardlab/contract';
import { expect, test } from 'vitest';

const none = (ref: string): JsonSchema => {
  throw new Error(`${ref} is not known`);
};
const example = (schema: JsonSchema, name?: string) => exampleOf(schema, none, name);

test.each<[string, JsonSchema, unknown]>([
  ['a constant', { const: 'sharded' }, 'sharded'],
  ['one of several', { enum: ['a', 'b'] }, 'a'],
  ['a default', { type: 'integer', default: 7, minimum: 1 }, 7],
  ['the first alternative', { anyOf: [{ type: 'null' }, { type: 'string' }] }, null],
  ['the least number', { type: 'number', minimum: 3 }, 3],
  ['a number above a bound', { type: 'number', exclusiveMinimum: 0 }, 0.5],
  ['a whole number above a bound', { type: 'integer', exclusiveMinimum: 0 }, 1],
  ['a number below a bound', { type: 'number', maximum: 0 }, 0],
  ['no more items than needed', { type: 'array', items: { type: 'boolean' }, minItems: 2 }, [true, true]],
  ['a list that may be empty', { type: 'array', items: { type: 'boolean' } }, []],
  ['bytes', { type: 'string', contentEncoding: 'base64' }, 'AA=='],
  ['any value', {}, 'text'],
])('%s', (_, schema, value) => {
  expect(example(schema)).toEqual(value);
});

test('an object has its required properties, and the first of several that exclude each other', () => {
  const schema: JsonSchema = {
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string' }, size: { type: 'integer' }, payload: {}, bytes: {} },
    oneOf: [{ required: ['payload'] }, { required: ['bytes'] }],
  };
  expect(example(schema)).toEqual({ name: 'name', payload: 'payload' });
  const least: JsonSchema = { type: 'object', minProperties: 1, properties: { a: {}, b: {} } };
  expect(example(least)).toEqual({ a: 'a' });
});

test('a string is the name of its property where the schema permits it', () => {
  expect(example({ type: 'string', pattern: '^[a-z-]+$' }, 'queueName')).toBe('queue-name');
  expect(example({ type: 'string', pattern: '^[A-Z][0-9]$' }, 'claim')).toBe('A1');
  expect(example({ type: 'string', minLength: 6 }, 'id')).toBe('xxxxxx');
});

test('a reference is followed', () => {
  const resolve = (ref: string): JsonSchema => ({ const: ref });
  expect(exampleOf({ type: 'array', minItems: 1, items: { $ref: '#/x' } }, resolve)).toEqual(['#/x']);
});
