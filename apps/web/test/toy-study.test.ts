/** A study that the dashboard does not know, from a server's description that `apps/server/test/studies.test.ts` checks. */
import { readFileSync } from 'node:fs';
import type { ClaimLedgerEntry, Point, ProgramInfo, Scenario, StudyInfo } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { createScalingChart } from '../src/charts/scaling-chart.ts';
import { claimRanges, documentNumbers } from '../src/model/document-numbers.ts';
import { metricsOf } from '../src/model/point-metrics.ts';
import { scalingSeries } from '../src/model/scaling-series.ts';
import { sweepAxis } from '../src/model/sweep-axis.ts';
import { savedFile, svgElement } from './fixtures/svg-page.ts';

interface Told {
  study: StudyInfo;
  program: ProgramInfo;
  claims: ClaimLedgerEntry[];
  scenario: Scenario;
  points: Point[];
}

const { study, program, claims, scenario, points }: Told = JSON.parse(
  readFileSync(new URL('fixtures/toy-study.json', import.meta.url), 'utf8'),
);

test('its document page has a row for each claim, with the words of the document', () => {
  expect(claimRanges(study.claims)).toBe('Z1 to Z2');
  const rows = documentNumbers(study.statements, claims);
  expect(rows.map(({ id, statement, measured }) => [id, statement.stated, measured])).toEqual([
    ['Z1', 'what goes in comes out', null],
    ['Z2', 'four get a quarter each', null],
  ]);
});

test('its run is drawn over the parameter of its own program', async () => {
  const { sweep } = scenario;
  const [metric] = metricsOf(program);
  const axis = sweepAxis(sweep, program)!;
  expect([metric!.label, axis.over, axis.describe(4)]).toEqual(['Turns', 'children', '4 children']);
  const series = scalingSeries(points, { metric: metric!, roundTrip: 'all', axis, sweep, program });
  expect(
    series.map(({ system, points: drawn }) => [system, drawn.map(({ x, value }) => [x, value])]),
  ).toEqual([
    [
      'wooden-box',
      [
        [1, 120],
        [2, 60],
        [4, 30],
      ],
    ],
  ]);
  const element = svgElement();
  createScalingChart(element, { onCursor: () => {}, onSelect: () => {} }).update({
    width: 720,
    height: 440,
    panels: [{ id: 'all', title: '', series, live: null }],
    domain: null,
    labelWidth: null,
    axis,
    xs: [1, 2, 4],
    references: [],
    hasLinearGuide: true,
    formatAxis: metric!.formatAxis,
    cursor: null,
    selected: null,
  });
  expect(savedFile(element, 'Turns over children')).toContain('children');
});
