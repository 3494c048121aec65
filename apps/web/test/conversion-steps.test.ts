import { type Conversion, ConversionStep, type QueueInfo } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { shownSteps, tookMs } from '../src/model/conversion-steps.ts';

const steps = ConversionStep.anyOf.map((literal) => literal.const);

function conversion(passed: number[]): Conversion {
  return {
    queue: 'q',
    stage: steps[passed.length] ?? 'done',
    steps: steps.map((step, index) => ({ step, passedAtMs: passed[index] ?? null })),
    startedAtMs: 1_000,
    canCancel: passed.length < 7,
    settings: {
      shards: 1,
      durability: 'durable',
      priorities: false,
      attemptsMax: null,
      retryDelayMs: 0,
      cacheBytesMax: null,
    },
    running: true,
    failure: null,
  };
}

const queue = { ready: 2, held: 1 } as QueueInfo;

test('shows finished steps with their duration, the current step with what it waits for, and pending steps', () => {
  const shown = shownSteps(conversion([1_040]), queue);
  expect(shown.slice(0, 3)).toMatchObject([
    { label: 'Stop enqueue', state: 'done', note: expect.stringMatching(/^40\s?ms$/) },
    { label: 'Drain', state: 'current', note: '2 messages to dequeue, 1 message held by consumers' },
    { label: 'Stop dequeue', state: 'pending', note: '' },
  ]);
});

test('measures each step from the previous one, and the whole conversion from its start', () => {
  const done = conversion(steps.map((_, index) => 1_000 + 10 * (index + 1)));
  expect(shownSteps(done, queue).map(({ state }) => state)).toEqual(steps.map(() => 'done'));
  expect(new Set(shownSteps(done, queue).map(({ note }) => note)).size).toBe(1);
  expect(tookMs(done)).toBe(80);
});
