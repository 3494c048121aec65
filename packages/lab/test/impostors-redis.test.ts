/**
 * Negative controls of the study of Redis, as those of the white paper: systems that are formulas go through the plan, the
 * point and the judges of its scenarios, beside one that does what the document says.
 */
import type { Scenario } from '@shardlab/contract';
import { bundledStudies, readScenarioFolder } from '@shardlab/lab';
import { Random } from '@shardlab/model';
import { beforeAll, describe, expect, test } from 'vitest';
import { noisy } from '../src/impostors/books.ts';
import { completionParamsOf, flowControlParamsOf } from '../src/programs/completion/completion-params.ts';
import { planRun } from '../src/run/plan-run.ts';
import { summarisePoint } from '../src/run/point.ts';
import type { TrialOutcome } from '../src/trial/trial.ts';

const seeds = 200;
/** A claim that holds for at least this share of the drawn systems says little. */
const weakFrom = 0.05;
const study = bundledStudies.studies.find(({ id }) => id === 'redis-benchmark')!;

/** The rate of a system at a number of messages, and how many messages it accepts at a flow control threshold. */
interface Formula {
  rate: (system: string, messages: number, chance: Random) => number;
  accepted: (offered: number, threshold: number, chance: Random) => number;
}

const atThreshold: Formula['accepted'] = (offered, threshold) => Math.min(offered, threshold);

/** A system that keeps nothing: it only counts, and refuses messages past the threshold. */
const counter: Formula = { rate: (_, __, chance) => noisy(900_000, chance), accepted: atThreshold };

/** A system with random figures in each trial. */
const random: Formula = {
  rate: (_, __, chance) => 1_000 * 1_000 ** chance.next(),
  accepted: (offered, _, chance) => Math.round(offered * chance.next()),
};

/** A system with the figures of the document. */
const reference: Formula = {
  rate: (system, _, chance) => {
    if (system.startsWith('redis')) return noisy(20_000, chance);
    return noisy(system.startsWith('buffered') ? 9_000 : 2_000, chance);
  },
  accepted: atThreshold,
};

/** Systems whose rate is a power of the number of messages. Factor and exponent are drawn once for each; half of the exponents are 0. */
function drawn(seed: number): Formula {
  const chance = new Random(seed);
  const systems = new Map<string, { one: number; power: number }>();
  const bound = chance.next() < 0.5 ? 1 : chance.next();
  const draw = () => ({
    one: 300 * 100 ** chance.next(),
    power: chance.next() < 0.5 ? 0 : chance.next() * 0.6 - 0.4,
  });
  return {
    rate: (system, messages, noise) => {
      const { one, power } = systems.get(system) ?? draw();
      systems.set(system, { one, power });
      return noisy(one * (messages / 1_000) ** power, noise, 0.05);
    },
    accepted: (offered, threshold) => Math.min(offered, Math.round(threshold * bound)),
  };
}

let scenarios: Scenario[];
beforeAll(async () => {
  const all = (await readScenarioFolder()).flatMap(({ parsed }) => (parsed.ok ? [parsed.scenario] : []));
  scenarios = all.filter((each) => each.study === study.id && each.claims.length > 0);
});

function figuresOf(
  formula: Formula,
  { program, system, params }: ReturnType<typeof planRun>['trials'][number],
  chance: Random,
): Record<string, number> {
  if (program === 'run-to-completion') {
    const { messages } = completionParamsOf(params);
    const rate = () => formula.rate(system, messages, chance);
    return { enqueuePerSec: rate(), dequeuePerSec: rate() };
  }
  const { messages, messagesMax } = flowControlParamsOf(params);
  const accepted = formula.accepted(messages, messagesMax, chance);
  return { accepted, refused: messages - accepted, delivered: accepted, acceptedAfterDrain: 1 };
}

const outcomeOf = (figures: Record<string, number>): TrialOutcome => ({
  figures,
  provenance: 'measured',
  latencies: {},
  byInstance: {},
  waits: [],
  integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
  measuredMs: 1_000,
});

/** The verdict of each claim of the study. */
function verdictsOf(formula: Formula, seed = 1): Record<string, string> {
  const chance = new Random(seed);
  const results = scenarios.flatMap((scenario) => {
    const { program, trials } = planRun(scenario, 'full', bundledStudies);
    const points = [...Map.groupBy(trials, ({ key }) => key).values()].map((repeats) =>
      summarisePoint(
        repeats[0]!,
        repeats.map((trial) => outcomeOf(figuresOf(formula, trial, chance))),
        program,
      ),
    );
    return bundledStudies.judge(scenario.claims, points, { cores: 2 });
  });
  return Object.fromEntries(results.map(({ id, verdict }) => [id, verdict]));
}

const passed = (verdicts: Record<string, string>) =>
  Object.keys(verdicts)
    .filter((id) => verdicts[id] === 'holds')
    .toSorted();

describe('the claims about Redis', () => {
  test('hold for systems that do what the document says', () => {
    expect(passed(verdictsOf(reference))).toEqual(study.claims.map(({ id }) => id));
  });

  test(`that a counter, random numbers, or 5 % or more of ${seeds} drawn systems fulfil are graded weak; no other is`, () => {
    const counts = new Map(study.claims.map(({ id }) => [id, 0]));
    for (let seed = 1; seed <= seeds; seed += 1)
      for (const id of passed(verdictsOf(drawn(seed), seed))) counts.set(id, counts.get(id)! + 1);
    const [ofCounter, ofRandom] = [verdictsOf(counter), verdictsOf(random)];
    console.log({
      counter: ofCounter,
      random: ofRandom,
      [`passes of ${seeds} drawn`]: Object.fromEntries(counts),
    });
    const often = [...counts].filter(([, count]) => count >= weakFrom * seeds).map(([id]) => id);
    const fulfilled = new Set([...passed(ofCounter), ...passed(ofRandom), ...often]);
    const weak = study.claims.filter((claim) => claim.weak !== undefined).map(({ id }) => id);
    expect(weak).toEqual([...fulfilled].toSorted());
  });
});
