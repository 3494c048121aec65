import type { ScenarioEntry, StudyInfo } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { findsScenario, scenarioGroups } from '../src/model/scenario-groups.ts';

const entry = (id: string, study?: string) =>
  ({
    scenario: { id, title: 'Failover in a run', question: 'Who serves?', claims: ['A1'], study },
  }) as ScenarioEntry;
const study = (id: string) => ({ id, document: { title: `About ${id}` } }) as StudyInfo;

test('scenarios are grouped by their document, those without one at the end', () => {
  const groups = scenarioGroups(
    [entry('a'), entry('b', 'xa'), entry('c', 'unknown')],
    [study('listen'), study('xa')],
  );
  expect(groups.map(({ title, entries }) => [title, ...entries.map(({ scenario }) => scenario.id)])).toEqual([
    ['About xa', 'b'],
    ['Not based on a document', 'a', 'c'],
  ]);
});

test('a scenario is found by each of the words, in its title, question, id or claims', () => {
  expect(['', 'FAIL serves', 'a1', 'kill-now'].map((text) => findsScenario(text, entry('kill-now')))).toEqual(
    [true, true, true, true],
  );
  expect(findsScenario('failover elsewhere', entry('kill-now'))).toBe(false);
});
