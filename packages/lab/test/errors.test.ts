import { LabError, labErrorRegistry } from '@shardlab/lab';
import { expect, test } from 'vitest';

test('an error takes its kind, retryability and message from the registry', () => {
  expect(new LabError('RUN_NOT_FOUND')).toMatchObject({
    name: 'LabError',
    code: 'RUN_NOT_FOUND',
    kind: 'not-found',
    retryable: false,
    message: labErrorRegistry.RUN_NOT_FOUND.message,
    details: {},
  });
});

test('a given message replaces that of the registry, and details and cause are kept', () => {
  const cause = new Error('disk');
  const error = new LabError('WORKER_FAILED', {
    message: 'Instance 3 failed',
    details: { instance: 3 },
    cause,
  });
  expect(error).toMatchObject({
    message: 'Instance 3 failed',
    details: { instance: 3 },
    cause,
    retryable: true,
  });
});

test('codes are spelt as codes and sentences end without a full stop', () => {
  for (const [code, { message }] of Object.entries(labErrorRegistry)) {
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)+$/);
    expect(message).not.toMatch(/\.$/);
  }
});
