/** Faults that the server finds in a form are shown at the fields that they are about. */
import { Convert, CreateQueue, Dequeue, Enqueue, findFaults, Redrive, Subscribe } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../src/api/client.ts';
import { type FormFields, placeFaults } from '../src/model/form-faults.ts';
import {
  convertFields,
  createQueueFields,
  dequeueFields,
  enqueueFields,
  givenFields,
  redriveFields,
  subscribeFields,
  typedNumber,
} from '../src/model/queue-form-fields.ts';

/** The server's answer to a body that violates the API's schema. */
function refused(schema: object, body: unknown): ApiError {
  const errors = findFaults(schema, JSON.parse(JSON.stringify(body))).faults.map(({ path, message }) => ({
    path,
    message,
  }));
  expect(errors.length).toBeGreaterThan(0);
  return error('REQUEST_INVALID', { errors });
}

const error = (code: string, details: Record<string, unknown> = {}, message = 'What is wrong') =>
  new ApiError(422, { code, message, retryable: false, details });

function placed<Name extends string>(refusal: Error, fields: FormFields<Name>) {
  const { byField, rest } = placeFaults(refusal, fields);
  return { ...Object.fromEntries(byField), ...(rest === null ? {} : { rest: rest.message }) };
}

const wholeNumber = (text: string) => `Must be an integer, not "${text}"`;

describe('a fault of the form', () => {
  it('Create a queue', () => {
    const body = { name: '1st', shards: typedNumber('many'), attemptsMax: 0, retryDelayMs: -1 };
    expect(placed(refused(CreateQueue, body), createQueueFields)).toEqual({
      name: 'Must be a letter, then letters, digits, dots, dashes or underscores; at most 64 in all; not "1st"',
      shards: wholeNumber('many'),
      attemptsMax: 'Must be at least 1, not 0',
      retryDelayMs: 'Must be at least 0, not -1',
    });
    expect(placed(error('QUEUE_EXISTS'), createQueueFields)).toEqual({ name: 'What is wrong' });
    expect(
      placed(error('QUEUE_SPEC_INVALID', { name: 'q', field: 'visibility' }), createQueueFields),
    ).toEqual({ buffered: 'What is wrong' });
    const unsupported = error('FEATURE_UNSUPPORTED', { fields: ['/kind'] });
    expect(placed(unsupported, createQueueFields)).toEqual({ kind: 'What is wrong' });
  });

  it('Enqueue', () => {
    const message = {
      payload: 1,
      priority: 10,
      delayMs: 0.5,
      correlationId: 'x'.repeat(513),
      recipients: ['.'],
    };
    const refusal = refused(Enqueue, { messages: [message, message] });
    expect(placed(refusal, enqueueFields)).toEqual({
      priority: 'Must be at most 9, not 10',
      delayMs: 'Must be an integer, not 0.5',
      correlationId: 'Must be at most 512 characters long',
      recipients: 'Must be any characters except U+0000, and neither "." nor ".."; not "."',
    });
    expect(placed(refused(Enqueue, { messages: [] }), enqueueFields)).toEqual({
      copies: 'Must have at least 1 item',
    });
    expect(placed(refused(Enqueue, { messages: [{}] }), enqueueFields)).toHaveProperty('copies');
    expect(placed(error('MESSAGE_INVALID', { field: 'correlationId' }), enqueueFields)).toEqual({
      correlationId: 'What is wrong',
    });
    expect(placed(error('PAYLOAD_TOO_LARGE'), enqueueFields)).toEqual({ payload: 'What is wrong' });
    expect(placed(error('ENQUEUE_STOPPED'), enqueueFields), 'of none of them').toEqual({
      rest: 'What is wrong',
    });
  });

  it('Dequeue', () => {
    expect(placed(refused(Dequeue, { max: 1_001, holdMs: 1 }), dequeueFields)).toEqual({
      mode: 'Must be at least 10, not 1',
      max: 'Must be at most 1,000, not 1001',
    });
  });

  it('Subscribe', () => {
    expect(placed(refused(Subscribe, { name: '' }), subscribeFields)).toEqual({
      name: expect.stringMatching(/^Must/),
    });
    expect(placed(error('SUBSCRIBER_EXISTS'), subscribeFields)).toEqual({ name: 'What is wrong' });
  });

  it('Convert', () => {
    expect(placed(refused(Convert, { shards: 17, attemptsMax: 0, cacheMiB: 'x' }), convertFields)).toEqual({
      shards: 'Must be at most 16, not 17',
      attemptsMax: 'Must be at least 1, not 0',
      cacheMiB: wholeNumber('x'),
    });
    expect(placed(error('OPTIONS_INVALID', { option: 'cacheBytesMax' }), convertFields)).toEqual({
      cacheMiB: 'What is wrong',
    });
    expect(placed(error('QUEUE_NOT_CONVERTIBLE'), convertFields)).toEqual({ rest: 'What is wrong' });
  });

  it('Redrive', () => {
    expect(placed(refused(Redrive, { to: '', max: 0 }), redriveFields)).toEqual({
      to: expect.stringMatching(/^Must be a letter/),
      max: 'Must be at least 1, not 0',
    });
    for (const code of ['QUEUE_NOT_FOUND', 'REDRIVE_REFUSED', 'ENQUEUE_STOPPED'])
      expect(placed(error(code), redriveFields)).toEqual({ to: 'What is wrong' });
  });

  it('without a field is shown for the whole form', () => {
    expect(placed(new Error('The server does not respond'), redriveFields)).toEqual({
      rest: 'The server does not respond',
    });
    expect(placeFaults(null, redriveFields)).toEqual({ byField: new Map(), rest: null });
    const mixed = error('REQUEST_INVALID', {
      errors: [
        { path: '/max', message: 'Too many' },
        { path: '/dryRun', message: 'Odd' },
      ],
    });
    expect(placed(mixed, redriveFields)).toEqual({ max: 'Too many', rest: 'What is wrong' });
  });
});

describe('a number that is typed', () => {
  it.each([
    ['', undefined],
    [' ', undefined],
    ['12', 12],
    ['-1', -1],
    ['0.5', 0.5],
    ['many', 'many'],
    ['Infinity', 'Infinity'],
  ])('%j is sent as %j', (text, sent) => {
    expect(typedNumber(text)).toBe(sent);
  });

  it('is left out of the request if the field is empty', () => {
    expect(givenFields({ max: typedNumber(''), mode: 'manual' })).toEqual({ mode: 'manual' });
  });
});
