import { expect, test } from 'vitest';
import { messagesOfRound } from '../src/programs/queue/trial/generator-costs.ts';

test.each([
  { payloadBytes: 512, operations: 1, messages: 2_000 },
  { payloadBytes: 512, operations: 10, messages: 8_000 },
  { payloadBytes: 2 ** 20, operations: 4, messages: 64 },
  { payloadBytes: 2 ** 27, operations: 4, messages: 4 },
])(
  'a round of the load generator beside a trial has its payloads in memory: $payloadBytes bytes, $operations a transaction',
  ({ messages, ...load }) => expect(messagesOfRound(load)).toBe(messages),
);
