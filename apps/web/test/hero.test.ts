/** Which chart is shown first for a run, and for which point. */
import type { Point, Scenario, StudyInfo } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { heroOf, tracedPoint } from '../src/model/hero.ts';
import { point } from './fixtures/points.ts';

const study: Pick<StudyInfo, 'heroes'> = {
  heroes: [
    { figure: 'Figure 10', chart: 'cpu over time' },
    { program: 'listen-herd', chart: 'lanes' },
  ],
};
const scenario = (change: Partial<Scenario>) => ({ program: 'queue', ...change }) as Scenario;

test('the first chart of a run is the one that its study names, or else of its events, or else its figure', () => {
  expect(heroOf(scenario({}), study)).toBe('figure');
  expect(heroOf(scenario({ figure: 'Figure 10' }), study)).toBe('cpu over time');
  expect(heroOf(scenario({ program: 'listen-herd' }), study)).toBe('lanes');
  expect(heroOf(scenario({ conversion: { atMs: 5 } }), study)).toBe('rate over time');
  expect(heroOf(scenario({ faults: [{ kind: 'kill', instance: 1, atMs: 5 }] }), undefined)).toBe(
    'rate over time',
  );
  expect(heroOf(scenario({ figure: 'Figure 10' }), undefined)).toBe('figure');
});

test('the trace is that of the chosen point, or else of the last point with one', () => {
  const lane = { session: 1, outcome: 'posted' as const, spans: [] };
  const [bare, first, last]: Point[] = [
    point(),
    { ...point(), swimlanes: [lane] },
    { ...point(), swimlanes: [lane] },
  ];
  const all = [first!, last!, bare!];
  expect(tracedPoint('lanes', all, null)).toBe(last);
  expect(tracedPoint('lanes', all, first!)).toBe(first);
  expect(tracedPoint('lanes', all, bare!)).toBe(last);
  expect(tracedPoint('sequence', all, first!)).toBeNull();
  expect(tracedPoint('figure', all, first!)).toBeNull();
});
