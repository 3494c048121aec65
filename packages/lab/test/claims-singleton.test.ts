/** The judges of the claims about the singleton service, with services that do what the document says and others that do not. */
import type { Point } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import {
  activationsOf,
  activeAtOnceMs,
  parseJournal,
  refusedWrites,
  writtenTwice,
} from '../src/programs/singleton/journal.ts';
import { ownershipLanes } from '../src/programs/singleton/ownership-lanes.ts';

const judge = (id: string, points: readonly Point[]) => bundledStudies.judge([id], points, { cores: 2 })[0]!;
const verdict = (id: string, points: readonly Point[]) => judge(id, points).verdict;
const repeats = 5;

const whole: Record<string, number> = {
  activeAtOnceMs: 0,
  writtenTwice: 0,
  seenByOther: 13,
  seenAfterMove: 5,
  startedOnPreferred: 1,
  returned: 1,
  gapMs: 300,
  gapMaxMs: 400,
};

function pointOf(
  fault: string,
  changed: Record<string, number> = {},
  { state = 'lost', system = 'singleton-service' } = {},
): Point {
  return {
    program: 'singleton',
    system,
    params: { fault, state, instances: 3, killEveryMs: 2_000 },
    figures: Object.fromEntries(
      Object.entries({ ...whole, ...changed }).map(([name, value]) => [
        name,
        { value, unit: '', provenance: 'measured', repeats: Array.from({ length: repeats }, () => value) },
      ]),
    ),
    latencies: {},
    byInstance: {},
    waits: [],
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    repeats: [],
  };
}

const moved = [pointOf('stop'), pointOf('kill'), pointOf('kill', { seenAfterMove: 13 }, { state: 'kept' })];

describe('the claims about the singleton service', () => {
  it('hold for a service that is what the document says', () => {
    for (const id of ['S1', 'S2', 'S3', 'S4']) expect([id, verdict(id, moved)]).toEqual([id, 'holds']);
  });

  it.each<[string, string, Record<string, number>]>([
    ['S1', 'two that are active for a millisecond', { activeAtOnceMs: 1 }],
    ['S1', 'two that make one write', { writtenTwice: 1 }],
    ['S2', 'one that is away for a minute', { gapMs: 60_000, gapMaxMs: 60_000 }],
    ['S3', 'another object for each client', { seenByOther: 5 }],
    ['S3', 'state that is forgotten though it is kept', { seenAfterMove: 0 }],
    ['S4', 'one that begins elsewhere', { startedOnPreferred: 0 }],
    ['S4', 'one that stays away', { returned: 0 }],
  ])('%s does not hold for %s', (id, _what, changed) => {
    expect(['does-not-hold', 'mixed']).toContain(
      verdict(id, [pointOf('stop', changed), pointOf('kill', changed)]),
    );
  });

  it('judge a stop and a kill separately, the worse first', () => {
    const { clauses } = judge('S2', [pointOf('stop'), pointOf('kill', { gapMaxMs: 60_000 })]);
    expect(clauses.map(({ condition, verdict }) => [condition, verdict])).toEqual([
      ['after a kill, 3 instances', 'does-not-hold'],
      ['after a stop, 3 instances', 'holds'],
    ]);
    expect(judge('S2', [pointOf('stop'), pointOf('kill', { gapMaxMs: 4_000 })]).value).toBe(4_000);
    expect(verdict('S2', [pointOf('kill')])).toBe('inconclusive');
  });

  it('are inconclusive for the reference, which has one object in each process', () => {
    const reference = pointOf('none', { seenByOther: 5 }, { system: 'singleton-per-process' });
    for (const id of ['S1', 'S2', 'S3', 'S4']) expect(verdict(id, [reference])).toBe('inconclusive');
  });
});

describe('the journal of a trial', () => {
  const lines = parseJournal(
    [
      'active counter 1 0 1000',
      'wrote counter 1 1 1005',
      'wrote counter 1 2 1010',
      'active counter 2 0 2000',
      'refused counter 1 0 2100',
      'wrote counter 2 3 2005',
      'inactive counter 2 0 3000',
      '',
    ].join('\n'),
  );

  it('shows when each instance had the service; a refused write does not count as activity', () => {
    expect(activationsOf(lines)).toEqual([
      { service: 'counter', epoch: 1, fromMs: 1_000, toMs: 1_010 },
      { service: 'counter', epoch: 2, fromMs: 2_000, toMs: 3_000 },
    ]);
    expect([activeAtOnceMs(activationsOf(lines)), writtenTwice(lines), refusedWrites(lines)]).toEqual([
      0, 0, 1,
    ]);
  });

  it('shows a holder that writes after the next one has started', () => {
    const late = [...lines, { what: 'wrote', service: 'counter', epoch: 1, number: 3, atMs: 2_040 } as const];
    expect([activeAtOnceMs(activationsOf(late)), writtenTwice(late)]).toEqual([40, 1]);
  });

  it('becomes a lane for each instance, with the gaps between activations', () => {
    const lanes = ownershipLanes({
      firstHolder: 1,
      seenByOther: 13,
      seenAfterMove: 5,
      moves: [],
      returnedMs: undefined,
      journal: lines,
      history: [
        { number: 1, epoch: 1, pid: 10, host: 1, activatedAtMs: 1_000, deactivatedAtMs: null },
        { number: 2, epoch: 2, pid: 11, host: 2, activatedAtMs: 2_000, deactivatedAtMs: 3_000 },
      ],
      startedAtMs: 900,
      endedAtMs: 4_000,
    });
    expect(lanes.map(({ session, spans }) => [session, ...spans])).toEqual([
      [1, { kind: 'epoch 1', calledUs: 100_000, gotUs: 100_000, endedUs: 110_000 }],
      [2, { kind: 'epoch 2', calledUs: 110_000, gotUs: 1_100_000, endedUs: 2_100_000 }],
    ]);
  });
});
