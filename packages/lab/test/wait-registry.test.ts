/** The registered wait events and counters are those that the glossary explains. */
import { readFileSync } from 'node:fs';
import { counters, waitEvents } from '@shardlab/engine';
import '@shardlab/lab';
import { expect, test } from 'vitest';
import { givenBack, toyBox } from './toy-studies/toy/study.ts';

/** The test files of one process share the registry, so that events of the toy study may be in it; they are ignored. */
const registeredEvents = waitEvents().filter(({ name }) => name !== toyBox.name);
const registeredCounters = counters().filter(({ name }) => name !== givenBack.name);

const glossary = readFileSync(new URL('../../../docs/glossary.md', import.meta.url), 'utf8');
const rows = [
  ...glossary.slice(glossary.indexOf('## Wait events')).matchAll(/^\| ([^|]+) \| ([^|]+) \| (.+) \|$/gm),
].map(([, name, ofClass, about]) => ({ name: name!, ofClass: ofClass!, about: about! }));

test('each registered wait event has a line in the glossary, with its class', () => {
  for (const { name, class: ofClass } of registeredEvents)
    expect(
      rows.find((row) => row.name === name),
      name,
    ).toMatchObject({ ofClass });
});

test('the glossary has no event that neither the engine nor the lab records', () => {
  const known = registeredEvents.map(({ name }) => name);
  const unknown = rows.filter(
    ({ name, about }) =>
      !['event', '---', 'counter'].includes(name) &&
      !about.includes('Simulated only') &&
      !known.includes(name),
  );
  expect(unknown.filter(({ name }) => !registeredCounters.some((counter) => counter.name === name))).toEqual(
    [],
  );
});

test('each registered counter has a line in the glossary, with its unit', () => {
  for (const { name, unit } of registeredCounters)
    expect(
      rows.find((row) => row.name === name),
      name,
    ).toMatchObject({ ofClass: unit });
});
