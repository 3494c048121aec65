import { expect, test } from 'vitest';
import { layoutSequence, rowMin, sequenceOf, sequenceTotals } from '../src/model/sequence.ts';

test('a traced transaction becomes calls between participants, and states of the branches', () => {
  const lane = (name: string, calls: string[], states: string[] = []) => ({
    name,
    calls: calls.map((each, index) => ({ name: each, fromUs: index * 100, toUs: index * 100 + 50 })),
    states: states.map((each) => ({ name: each, fromUs: 10, toUs: 40, emulated: true })),
  });
  const lanes = [
    lane('coordinator', ['prepare phase']),
    lane('branch 1: session 1 on instance 1', ['start', 'prepare'], ['log file sync']),
  ];
  const diagram = sequenceOf(lanes);
  expect(diagram.participants.map(({ label }) => label)).toEqual(['coordinator', 'branch 1']);
  expect(diagram.calls.map(({ from, name, sentAt }) => [from, name, sentAt])).toEqual([
    ['coordinator', 'start', 0],
    ['coordinator', 'prepare', 100],
  ]);
  expect(sequenceTotals(diagram)).toEqual([{ event: 'log file sync', total: 30 }]);
  expect(sequenceOf(lanes.slice(1)).participants[0]!.label).toBe('application');
});

test('messages of a sequence are drawn apart and in order, even if they are close in time', () => {
  const call = (name: string, sentAt: number, answeredAt: number) => ({
    from: 'client',
    to: 'branch',
    name,
    sentAt,
    receivedAt: sentAt,
    answeredAt,
    returnedAt: answeredAt,
    answer: '',
  });
  const { rows, yOf } = layoutSequence(
    {
      participants: [],
      calls: [call('start', 0, 1), call('prepare', 2, 22_000)],
      intervals: [],
      unit: 'us',
    },
    { top: 0, pxMax: 300 },
  );
  expect(rows.map(({ kind, call: { name } }) => `${name} ${kind}`)).toEqual([
    'start call',
    'start answer',
    'prepare call',
    'prepare answer',
  ]);
  for (const [index, row] of rows.slice(1).entries())
    expect(row.y - rows[index]!.y).toBeGreaterThanOrEqual(rowMin);
  expect(yOf(11_000)).toBeGreaterThan(rows[2]!.y);
  expect(yOf(11_000)).toBeLessThan(rows[3]!.y);
});
