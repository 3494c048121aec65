/** What the recorded runs decide of the claims of the white paper's figures, A1 to A19. */
import { expect, test } from 'vitest';
import { bestEvidence } from '../src/judging/best-evidence.ts';
import { listRecorded } from '../src/recorded/recorded-run.ts';
import { recordedVerdicts } from '../src/recorded/recorded-verdicts.ts';

const recorded = await listRecorded();
const verdicts = recordedVerdicts(recorded);

/** `isWeak`: for one of the runs that the verdict rests on, the judge said that holding says little. */
const evidence = Array.from({ length: 19 }, (_, index) => {
  const id = `A${index + 1}`;
  const best = bestEvidence(verdicts.filter((verdict) => verdict.id === id));
  const runs = best === undefined ? [] : [best.verdict, ...best.others].map(({ runId }) => runId);
  const claims = recorded.filter(({ run }) => runs.includes(run.id)).flatMap(({ run }) => run.claims);
  const isWeak = claims.some((claim) => claim.id === id && claim.weak !== null);
  return { id, verdict: best?.verdict.verdict, isWeak };
});
const idsOf = (those: typeof evidence) => those.map(({ id }) => id);

test('the best evidence of every claim was recorded, and that of at most three is not comparable', () => {
  expect(idsOf(evidence.filter(({ verdict }) => verdict === undefined))).toEqual([]);
  const notComparable = idsOf(evidence.filter(({ verdict }) => verdict === 'not-comparable'));
  expect(notComparable.length, notComparable.join(', ')).toBeLessThanOrEqual(3);
});

test('the best evidence of at most four claims is weak', () => {
  const weak = idsOf(evidence.filter(({ isWeak }) => isWeak));
  expect(weak.length, weak.join(', ')).toBeLessThanOrEqual(4);
});
