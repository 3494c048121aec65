import type {
  ClaimLedgerEntry,
  MachineState,
  RunList,
  RunSummary,
  ScenarioEntry,
  StudyInfo,
} from '@shardlab/contract';
import { expect, test } from 'vitest';
import { claimRanges, documentNumbers } from '../src/model/document-numbers.ts';
import { reasonsNotToCalibrate, reasonsToAsk } from '../src/model/machine-words.ts';
import {
  cellMarks,
  cellOf,
  countCells,
  describeCell,
  describeCellCount,
  mosaicRows,
  moveInRow,
} from '../src/model/mosaic.ts';
import { runUnderWay, withProgressOf } from '../src/model/run-under-way.ts';
import { tracksOf } from '../src/model/tracks.ts';

const last = {
  verdict: 'holds',
  value: 4.2,
  unit: '× the messages',
  interval: [4, 4.5],
  provisional: false,
  recordedOn: null,
  others: [],
} as unknown as NonNullable<ClaimLedgerEntry['last']>;

const claim = (id: string, changes: Partial<ClaimLedgerEntry> = {}): ClaimLedgerEntry => ({
  id,
  study: 'white-paper',
  title: `Title of ${id}`,
  document: 'It is so (figure 5).',
  grade: 'prose',
  weak: null,
  last: null,
  history: [],
  judged: 0,
  ...changes,
});

test('each state of a claim has a mark of its own and a description in words', () => {
  const marks = Object.values(cellMarks);
  expect(new Set(marks).size).toBe(marks.length);
  expect(describeCell(cellOf(claim('A1')))).toBe('A1, not judged yet: Title of A1');
  expect(describeCell(cellOf(claim('A2', { last: { ...last, provisional: true } })))).toBe(
    'A2, holds here, provisional: Title of A2',
  );
  expect(
    describeCell(cellOf(claim('A3', { last: { ...last, verdict: 'mixed', recordedOn: 'a machine' } }))),
  ).toBe('A3, mixed (recorded): Title of A3');
  expect(describeCell(cellOf(claim('A4', { last: { ...last, recordedOn: 'a machine' } })))).toBe(
    'A4, holds (recorded): Title of A4',
  );
});

test('the mosaic has a row for each document with claims, and counts its cells', () => {
  const study = (id: string, title: string) => ({ id, document: { title } }) as unknown as StudyInfo;
  const rows = mosaicRows(
    [study('white-paper', 'Paper'), study('empty', 'Nothing claimed')],
    [claim('A1'), claim('A2', { last }), claim('A3', { last: { ...last, provisional: true } })],
  );
  expect(rows.map(({ title, cells }) => [title, cells.map(({ id }) => id)])).toEqual([
    ['Paper', ['A1', 'A2', 'A3']],
  ]);
  const counts = countCells(rows);
  expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(3);
  expect(counts.filter(({ count }) => count > 0).map(describeCellCount)).toEqual([
    '2 hold here (1 provisionally)',
    '1 not judged yet',
  ]);
});

test('arrow keys move within a row and stop at its ends', () => {
  expect([moveInRow(0, 'ArrowRight', 3), moveInRow(2, 'ArrowRight', 3)]).toEqual([1, 2]);
  expect([moveInRow(1, 'ArrowLeft', 3), moveInRow(0, 'ArrowLeft', 3)]).toEqual([0, 0]);
  expect([moveInRow(1, 'Home', 3), moveInRow(1, 'End', 3), moveInRow(1, 'a', 3)]).toEqual([0, 2, null]);
});

test('the claims of a document are abbreviated to a range for each letter', () => {
  expect(claimRanges(['A1', 'A2', 'A19', 'W1', 'W10'])).toBe('A1 to A19 and W1 to W10');
  expect([claimRanges(['S1']), claimRanges([])]).toEqual(['S1', '']);
});

const scenario = (changes: object, source: ScenarioEntry['source'] = 'built-in') =>
  ({ source, scenario: { id: 'x', program: 'queue', ...changes } }) as unknown as ScenarioEntry;

test('a number of a document is quoted with its place, next to the measured one', () => {
  const stated = (id: string) => ({ claim: id, where: `page of ${id}`, stated: `words of ${id}` });
  const claims = [claim('A1'), claim('A2', { last }), claim('A3')];
  const rows = documentNumbers([stated('A2'), stated('A1')], claims);
  expect(rows).toMatchObject([
    { statement: stated('A1'), measured: null, unit: '' },
    { statement: stated('A2'), measured: '4.2 (4 to 4.5)', unit: '× the messages' },
  ]);
});

test('scenarios are divided into three groups: figures, faults and uploads', () => {
  const entries = [
    scenario({ id: 'plan-1', study: 'redis', figure: 'Plan 1' }),
    scenario({ id: 'figure-10', study: 'white-paper', figure: 'Figure 10' }),
    scenario({ id: 'figure-3', study: 'white-paper', figure: 'Figure 3' }),
    scenario({ id: 'failover', faults: [{}] }),
    scenario({ id: 'conversion', conversion: {} }),
    scenario({ id: 'moves', program: 'singleton', parameters: {} }),
    scenario({ id: 'example', program: 'singleton', parameters: { fault: 'none' } }),
    scenario({ id: 'herd', program: 'listen-herd' }),
    scenario({ id: 'plain' }),
    scenario({ id: 'mine', faults: [{}] }, 'uploaded'),
  ];
  const ids = (found: ScenarioEntry[]) => found.map((entry) => entry.scenario.id);
  const { figures, breaking, own } = tracksOf(entries);
  expect(figures.map(({ entries: found }) => ids(found))).toEqual([['figure-3', 'figure-10'], ['plan-1']]);
  expect(ids(breaking)).toEqual(['failover', 'conversion', 'moves']);
  expect(ids(own)).toEqual(['mine']);
});

const idle: MachineState = {
  cores: 2,
  coresBusy: 0.1,
  loadRunning: false,
  runsUnderWay: 0,
  calibrating: false,
};

test('a busy machine and a load need a confirmation before a run; a run under way does not, since the next one waits', () => {
  expect(reasonsToAsk(idle)).toEqual([]);
  expect(reasonsToAsk({ ...idle, coresBusy: 1.4 })).toEqual(['Other work keeps 1.4 of 2 cores busy.']);
  expect(reasonsToAsk({ ...idle, loadRunning: true })).toHaveLength(1);
  expect(reasonsToAsk({ ...idle, coresBusy: 2, runsUnderWay: 1 })).toEqual([]);
  expect(reasonsToAsk({ ...idle, coresBusy: 2, loadRunning: true, runsUnderWay: 1 })).toHaveLength(1);
  expect(reasonsToAsk({ ...idle, coresBusy: 1, calibrating: true })).toEqual([
    expect.stringContaining('costs of this machine are being measured'),
  ]);
});

test('a calibration starts at once, so that a run under way needs a confirmation too', () => {
  expect(reasonsNotToCalibrate(idle)).toEqual([]);
  expect(reasonsNotToCalibrate({ ...idle, coresBusy: 1.4, loadRunning: true })).toHaveLength(2);
  expect(reasonsNotToCalibrate({ ...idle, coresBusy: 1.4, runsUnderWay: 2 })).toEqual([
    expect.stringMatching(/^A run is under way/),
  ]);
});

test('the pill in the header shows the run that is executed, and how many wait', () => {
  const run = (status: 'running' | 'queued' | 'done', createdAtMs: number) => ({ status, createdAtMs });
  expect(runUnderWay([run('queued', 3), run('running', 2), run('done', 1)])).toEqual({
    run: run('running', 2),
    waiting: 1,
  });
  expect(runUnderWay([run('queued', 3), run('queued', 2)])?.run).toEqual(run('queued', 2));
  expect(runUnderWay([run('done', 1)])).toBeNull();
});

test('a list of runs is updated with the progress from the stream of one of them', () => {
  const summary = (id: string) => ({ id, status: 'running', progress: { done: 0, total: 4 } }) as RunSummary;
  const list: RunList = { runs: [summary('a'), summary('b')], next: null };
  const newer = { id: 'b', status: 'done', progress: { ...summary('b').progress, done: 4 } } as const;
  expect(withProgressOf(list, newer).runs).toEqual([summary('a'), newer]);
  expect(withProgressOf(list, { ...newer, id: 'c' })).toBe(list);
});
