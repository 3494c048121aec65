import type { ClaimClause } from '@shardlab/contract';
import { newRun } from '@shardlab/lab';
import { expect, test } from 'vitest';
import { bestEvidence, byEvidence } from '../src/judging/best-evidence.ts';
import { type StoredVerdict, verdictsOf } from '../src/judging/verdict-history.ts';
import { smallScenario } from './support.ts';

const scenario = smallScenario({ claims: ['A9'] });
const [unmeasured] = verdictsOf({
  ...newRun({ id: 'unmeasured', scenario, scale: 'full', createdAtMs: 1 }),
  scenarioId: 'unmeasured',
});

const clause = (
  condition: string | null,
  verdict: ClaimClause['verdict'],
  value: number | null = 1,
): ClaimClause => ({ ...unmeasured!.clauses[0]!, condition, verdict, value, repeats: 5, provisional: false });

/** A stored verdict whose scenario has the name of its run. */
const named = (runId: string, change: Partial<StoredVerdict>): StoredVerdict => ({
  ...unmeasured!,
  verdict: 'holds',
  clauses: [clause(null, 'holds')],
  provisional: false,
  scale: 'full',
  repeats: 5,
  trials: 10,
  endedAtMs: 1,
  runId,
  scenarioId: runId,
  ...change,
});

const runs = (verdicts: readonly StoredVerdict[]) => verdicts.map(({ runId }) => runId);

test('better evidence counts more than newer: measured, final, full scale, more repeats, steady, undisturbed, more trials, then the newest', () => {
  const bestFirst = [
    named('ten repeats', { repeats: 10 }),
    named('more trials', { trials: 30, endedAtMs: 1 }),
    named('newer', { endedAtMs: 3 }),
    named('older', { endedAtMs: 2 }),
    named('disturbed', { disturbed: true, endedAtMs: 8 }),
    named('not steady', { notSteady: true, endedAtMs: 7 }),
    named('quick', { scale: 'quick', repeats: 20, endedAtMs: 9 }),
    named('provisional', { provisional: true, repeats: 4, endedAtMs: 10 }),
    named('provisional and quick', { provisional: true, repeats: 4, scale: 'quick', endedAtMs: 11 }),
    named('not comparable', {
      verdict: 'not-comparable',
      clauses: [clause(null, 'not-comparable', null)],
      endedAtMs: 13,
    }),
    named('unmeasured', { verdict: 'inconclusive', clauses: unmeasured!.clauses, endedAtMs: 12 }),
  ];
  expect(runs(bestFirst.toReversed().toSorted(byEvidence))).toEqual(runs(bestFirst));
});

test('without verdicts there is no evidence', () => {
  expect(bestEvidence([])).toBeUndefined();
});

test('a claim that holds under one condition and fails under that of another scenario is mixed', () => {
  const embedded = named('embedded', {
    clauses: [clause('embedded sessions', 'holds'), clause('remote sessions', 'not-comparable', null)],
    endedAtMs: 2,
  });
  const remote = named('remote', {
    verdict: 'does-not-hold',
    clauses: [clause('remote sessions', 'does-not-hold')],
    disturbed: true,
  });
  const best = bestEvidence([remote, embedded])!;
  expect(best.verdict).toMatchObject({ runId: 'embedded', verdict: 'mixed', disturbed: true });
  expect(best.verdict.clauses).toEqual([embedded.clauses[0], remote.clauses[0]]);
  expect(runs(best.others)).toEqual(['remote']);
});

test('of two verdicts under the same condition only the better evidence counts', () => {
  const better = named('better', { clauses: [clause('as it is', 'holds')], repeats: 10 });
  const worse = named('worse', { clauses: [clause('as it is', 'does-not-hold')], verdict: 'does-not-hold' });
  expect(bestEvidence([worse, better])).toEqual({ verdict: better, others: [] });
});

test('quick or provisional evidence and an older verdict of the same scenario add nothing to the best one', () => {
  const full = named('full', { clauses: [clause('embedded sessions', 'holds')], endedAtMs: 2 });
  const failed: Partial<StoredVerdict> = {
    verdict: 'does-not-hold',
    clauses: [clause('remote sessions', 'does-not-hold')],
  };
  const quick = named('quick', { ...failed, scale: 'quick' });
  const provisional = named('provisional', { ...failed, provisional: true });
  const older = named('older', { ...failed, scenarioId: 'full' });
  expect(bestEvidence([older, provisional, quick, full])).toEqual({ verdict: full, others: [] });
});
