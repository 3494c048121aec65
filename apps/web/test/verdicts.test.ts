import { type ClaimClause, yesOrNo } from '@shardlab/contract';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import {
  claimFigure,
  countVerdicts,
  describeVerdictCount,
  judgedOn,
  verdictLabel,
} from '../src/model/verdicts.ts';
import { VerdictBadge } from '../src/parts/badges.tsx';
import { ClaimClauses } from '../src/parts/claim-clauses.tsx';

const clause = (change: Partial<ClaimClause>): ClaimClause => ({
  condition: null,
  statement: 'the rate rises with threads',
  verdict: 'holds',
  value: 0.9,
  unit: 'log-log slope',
  interval: [0.8, 1],
  repeats: 5,
  provenance: 'measured',
  provisional: false,
  reason: '',
  ...change,
});

const textOf = (markup: string) => markup.replaceAll(/<[^>]*>/g, '');

describe('verdicts in words', () => {
  it('say that a verdict is provisional, in the label and in the badge', () => {
    expect(verdictLabel({ verdict: 'mixed', provisional: false })).toBe('Mixed');
    const badge = renderToStaticMarkup(createElement(VerdictBadge, { verdict: 'holds', provisional: true }));
    expect(textOf(badge)).toBe('Holds here, provisional');
    expect(badge).toContain('data-provisional');
    const final = renderToStaticMarkup(createElement(VerdictBadge, { verdict: 'mixed', provisional: false }));
    expect(final).not.toContain('data-provisional');
  });

  it('count mixed verdicts separately', () => {
    const claims = [
      { verdict: 'holds', provisional: true },
      { verdict: 'does-not-hold', provisional: false },
      { verdict: 'mixed', provisional: true },
      { verdict: 'mixed', provisional: false },
    ] as const;
    expect(countVerdicts(claims).map(describeVerdictCount)).toEqual([
      '1 holds here (provisionally)',
      '2 mixed (1 provisionally)',
      '1 does not hold here',
    ]);
  });

  it('have no unit for an answer of yes or no, and no interval whose ends are printed alike', () => {
    const written = (change: Partial<ClaimClause>) => Object.values(claimFigure(clause(change))!).join('');
    expect(written({ value: 1, unit: yesOrNo, interval: [1, 1] })).toBe('yes');
    expect(written({ value: 0, unit: yesOrNo, interval: null })).toBe('no');
    expect(written({ value: 5, unit: 'read', interval: [5, 5] })).toBe('5 read');
    expect(written({})).toBe('0.9 log-log slope (0.8 to 1)');
  });

  it('say on which points claims were judged, and that a stopped run will get no more', () => {
    expect((['done', 'running', 'cancelled', 'failed'] as const).map(judgedOn)).toEqual([
      'on all points',
      'on the points so far',
      'on the points that were measured',
      'on the points that were measured',
    ]);
  });

  it('say that a verdict was recorded on another machine, and not that it holds here', () => {
    const recorded = { provisional: true, isRecorded: true } as const;
    expect(verdictLabel({ verdict: 'holds', ...recorded })).toBe('Holds (recorded), provisional');
    const badge = renderToStaticMarkup(
      createElement(VerdictBadge, { verdict: 'does-not-hold', provisional: false, isRecorded: true }),
    );
    expect(textOf(badge)).toBe('Does not hold (recorded)');
    const claims = [
      { verdict: 'holds', ...recorded },
      { verdict: 'holds', provisional: false },
      { verdict: 'does-not-hold', provisional: false, isRecorded: true },
      { verdict: 'inconclusive', ...recorded },
    ] as const;
    expect(countVerdicts(claims).map(describeVerdictCount)).toEqual([
      '2 hold (1 recorded, 1 provisionally)',
      '1 does not hold (recorded)',
      '1 inconclusive (recorded, provisionally)',
    ]);
  });

  it('list several clauses with condition, figure and provenance, but not a single one', () => {
    const clauses = [
      clause({ condition: 'with a 1 ms round trip, emulated', provenance: 'emulated' }),
      clause({ condition: 'as it is', verdict: 'does-not-hold', interval: null, provisional: true }),
    ];
    const items = renderToStaticMarkup(createElement(ClaimClauses, { clauses })).split('</li>').map(textOf);
    expect(items.slice(0, 2)).toEqual([
      'Holds here with a 1 ms round trip, emulated: the rate rises with threads (0.9 log-log slope (0.8 to 1), emulated)',
      'Does not hold here, provisional as it is: the rate rises with threads (0.9 log-log slope)',
    ]);
    expect(renderToStaticMarkup(createElement(ClaimClauses, { clauses: [clause({})] }))).toBe('');
  });
});
