import { parseScenario } from '@shardlab/lab';
import { expect, test } from 'vitest';

const old = {
  version: 1,
  id: 'topic-of-old',
  title: 'A topic',
  question: 'Does it still run?',
  document: 'A',
  claims: ['A12'],
  seed: 7,
  queue: { durability: 'durable', shardsPerInstance: 2, type: 'topic' },
  workload: { payloadBytes: 512, operationsPerTransaction: 10, subscribers: 10, backlogMax: 20_000 },
  sweep: {
    implementation: ['sharded', 'unsharded'],
    instances: [1, 2],
    threads: [1, 4],
    roundTripMs: [0],
    payloadBytes: [64, 512],
  },
  phases: { warmupMs: 100, measureMs: 500, drainMs: 500 },
  repeats: 1,
  quick: { sweep: { implementation: ['sharded'], threads: [1] } },
  references: [
    { label: 'The paper', metric: 'dequeuePerSec', value: 100_000, implementation: 'sharded', claim: 'A12' },
  ],
};

const translationOf = (scenario: unknown) => {
  const parsed = parseScenario(scenario);
  if (parsed.ok) throw new Error('it was accepted');
  expect(parsed.faults).toEqual([
    {
      path: '/version',
      message: 'Version 1 is no longer read; the same scenario as version 2 comes with this error',
    },
  ]);
  return parsed.error.details.translation;
};

test('a scenario of version 1 is refused with its translation, which is valid', () => {
  const translation = translationOf(old);
  expect(translation).toMatchObject({
    version: 2,
    study: 'white-paper',
    program: 'topic',
    systems: ['sharded', 'unsharded'],
    parameters: { durability: 'durable', shardsPerInstance: 2, subscribers: 10 },
    sweep: { payloadBytes: [64, 512], threads: [1, 4] },
    quick: { systems: ['sharded'], sweep: { threads: [1] } },
    references: [{ figure: 'dequeuePerSec', system: 'sharded' }],
  });
  expect(parseScenario(translation)).toEqual({ ok: true, scenario: translation });
});

test('faults of a scenario of version 1 remain faults of its translation', () => {
  const translation = translationOf({ ...old, colour: 'red', sweep: { ...old.sweep, thraeds: [1] } });
  expect(parseScenario(translation)).toMatchObject({
    faults: [{ path: '/colour' }, { path: '/sweep/thraeds' }],
  });
});

test.each([null, {}, 7, [], 'x'])('parts of a wrong type (%j) do not make the translation throw', (part) => {
  const translation = translationOf({
    ...old,
    queue: part,
    workload: part,
    sweep: part,
    quick: part,
    references: part,
  });
  expect(parseScenario(translation).ok).toBe(false);
});
