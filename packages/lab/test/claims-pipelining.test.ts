/**
 * The judges of the claims about pipelining: with what the document says they hold, with other systems they do not, and exact
 * counts that are off by one are noticed.
 */
import type { ClaimResult, Scenario } from '@shardlab/contract';
import { bundledStudies, readScenarioFolder } from '@shardlab/lab';
import { Random } from '@shardlab/model';
import { beforeAll, describe, expect, test } from 'vitest';
import { noisy } from '../src/impostors/books.ts';
import type { PipelineCaseName } from '../src/programs/pipelining/cases.ts';
import { pipelineCaseParamsOf } from '../src/programs/pipelining/cases-program.ts';
import { type PipeliningParams, pipeliningParamsOf } from '../src/programs/pipelining/pipelining-params.ts';
import {
  type SlowConsumerParams,
  slowConsumerParamsOf,
} from '../src/programs/pipelining/slow-consumer-job.ts';
import { planRun } from '../src/run/plan-run.ts';
import { summarisePoint } from '../src/run/point.ts';

const study = bundledStudies.studies.find(({ id }) => id === 'pipelining')!;
const ids = study.claims.map(({ id }) => id);
const seeds = 100;

/** A system whose figures are computed by formulas. */
interface Formula {
  rate(params: PipeliningParams, chance: Random): number;
  deviation(params: PipeliningParams, chance: Random): number;
  cpuCores: number | ((params: PipeliningParams) => number);
  cases(name: PipelineCaseName, messages: number): Record<string, number>;
  /** The rate of a consumer while another one is slow. */
  beside(params: SlowConsumerParams, chance: Random): number;
}

const documentCases: Formula['cases'] = (name, messages) => {
  if (name === 'urgent-after-leaving') return { sortedBeforeLeaving: 1, deliveredBeforeUrgent: 10 };
  if (name === 'huge-pipeline') return { inPipeline: messages - 1, leftToAnother: 0 };
  if (name === 'huge-fair-pipeline') return { inPipeline: 10, leftToAnother: messages - 11 };
  const isAfter = name.endsWith('after-receive') ? 1 : 0;
  return { refused: isAfter, prefetching: isAfter };
};

/** With prefetch the rate is linear up to 4 producers; without, the consumer's round trip limits it. */
const reference: Formula = {
  rate: ({ configuration, producers, payloadBytes, sendsPerSec }, chance) => {
    const limit = { base: 12_000, quotas: 22_000, 'one-way': 22_000, prefetch: 130_000 }[configuration];
    const each = { base: 4_000, quotas: 6_000, 'one-way': 24_000, prefetch: 32_000 }[configuration];
    const rate = Math.min(limit, (sendsPerSec > 0 ? sendsPerSec : each) * producers);
    // Sending a kilobyte takes 2 µs, with and without a pipeline.
    return noisy(1 / (1 / rate + (payloadBytes / 1_024) * 2e-6), chance);
  },
  deviation: ({ configuration }, chance) => noisy(configuration === 'base' ? 0.6 : 0.1, chance),
  cpuCores: 4,
  cases: documentCases,
  beside: ({ pipeline, messagesMaximum, quotaMessages }, chance) =>
    noisy(pipeline === 'filled-at-once' && messagesMaximum > quotaMessages ? 250 : 60_000, chance),
};

/** A system with the same rate under every configuration. */
const constant: Formula = {
  rate: (_, chance) => noisy(30_000, chance),
  deviation: (_, chance) => noisy(0.2, chance),
  cpuCores: 1,
  cases: () => ({
    sortedBeforeLeaving: 0,
    deliveredBeforeUrgent: 0,
    refused: 0,
    prefetching: 0,
    inPipeline: 0,
    leftToAnother: 0,
  }),
  beside: (_, chance) => noisy(30_000, chance),
};

/** A system with random figures in each trial. */
const random: Formula = {
  rate: (_, chance) => 1_000 * 200 ** chance.next(),
  deviation: (_, chance) => chance.next(),
  cpuCores: 1,
  cases: constant.cases,
  beside: (_, chance) => 1_000 * 200 ** chance.next(),
};

let scenarios: Scenario[];
beforeAll(async () => {
  const all = (await readScenarioFolder()).flatMap(({ parsed }) => (parsed.ok ? [parsed.scenario] : []));
  scenarios = all.filter((each) => each.study === study.id && each.claims.length > 0);
});

const verdictsOf = (formula: Formula, seed = 1): Record<string, string> =>
  Object.fromEntries(resultsOf(formula, seed).map(({ id, verdict }) => [id, verdict]));

function resultsOf(formula: Formula, seed = 1, cores = 8): ClaimResult[] {
  const chance = new Random(seed);
  const figuresOf = (program: string, params: Record<string, unknown>): Record<string, number> => {
    if (program === 'pipelining-cases') {
      const { case: name, messages } = pipelineCaseParamsOf(params as never);
      return formula.cases(name, messages);
    }
    if (program === 'slow-consumer')
      return { otherPerSec: formula.beside(slowConsumerParamsOf(params as never), chance), heldMost: 10 };
    const of = pipeliningParamsOf(params as never);
    const messagesPerSec = formula.rate(of, chance);
    const { cpuCores: used } = formula;
    const cpuCores = typeof used === 'number' ? used : used(of);
    return { messagesPerSec, rateDeviation: formula.deviation(of, chance), cpuCores };
  };
  const all = scenarios.flatMap((scenario) => {
    const { program, trials } = planRun(scenario, 'full', bundledStudies);
    return [...Map.groupBy(trials, ({ key }) => key).values()].map((repeats) =>
      summarisePoint(
        repeats[0]!,
        repeats.map((trial) => ({
          figures: figuresOf(scenario.program, trial.params),
          provenance: 'measured' as const,
          latencies: {},
          byInstance: {},
          waits: [],
          integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
          measuredMs: 1_000,
        })),
        program,
      ),
    );
  });
  return bundledStudies.judge(ids, all, { cores });
}

const held = (verdicts: Record<string, string>) =>
  Object.keys(verdicts)
    .filter((id) => verdicts[id] === 'holds')
    .toSorted();

describe('the claims about pipelining', () => {
  test('hold for a system that does what the document says', () => {
    expect(held(verdictsOf(reference))).toEqual(study.claims.map(({ id }) => id));
  });

  test('do not hold for a system with the same rate under every configuration', () => {
    expect(held(verdictsOf(constant))).toEqual([]);
  });

  test('hold for random numbers no more often than one in twenty', () => {
    const count: Record<string, number> = {};
    for (let seed = 1; seed <= seeds; seed += 1)
      for (const id of held(verdictsOf(random, seed))) count[id] = (count[id] ?? 0) + 1;
    for (const times of Object.values(count)) expect(times / seeds).toBeLessThanOrEqual(0.05);
  });

  test('about exact counts do not hold if one of them is off by one', () => {
    const off = (claim: string, change: Partial<Record<PipelineCaseName, Record<string, number>>>) => {
      const cases: Formula['cases'] = (name, messages) => ({
        ...documentCases(name, messages),
        ...change[name],
      });
      expect(verdictsOf({ ...reference, cases })[claim]).toBe('does-not-hold');
    };
    off('D5', { 'urgent-after-leaving': { deliveredBeforeUrgent: 9 } });
    off('D5', { 'urgent-after-leaving': { sortedBeforeLeaving: 0 } });
    off('D6', { 'branch-before-receive': { refused: 1 } });
    off('D6', { 'second-consumer-after-receive': { refused: 0 } });
    off('D8', { 'huge-pipeline': { leftToAnother: 1 } });
    off('D8', { 'huge-fair-pipeline': { leftToAnother: 0 } });
  });

  test('about starvation do not hold if the rates do not show it, even if the counts do', () => {
    const fairStarves: Formula = {
      ...reference,
      beside: (params, chance) => (params.pipeline === 'none' ? noisy(60_000, chance) : noisy(250, chance)),
    };
    expect(verdictsOf(fairStarves).D8).toBe('does-not-hold');
    expect(verdictsOf({ ...reference, beside: constant.beside }).D8).toBe('does-not-hold');
  });

  test('hold at a given load that leaves cores free, even if they are not comparable at full speed', () => {
    const fullAtFullSpeed: Formula = {
      ...reference,
      rate: (params, chance) => reference.rate(params, chance) ** (params.sendsPerSec > 0 ? 1 : 0.8),
      cpuCores: ({ sendsPerSec }) => (sendsPerSec > 0 && sendsPerSec <= 2_500 ? 3 : 8),
    };
    const { D3, D4 } = Object.fromEntries(
      resultsOf(fullAtFullSpeed).map(({ id, verdict, clauses }) => [id, { verdict, clauses }]),
    );
    expect([D3!.verdict, D4!.verdict]).toEqual(['holds', 'holds']);
    for (const { clauses } of [D3!, D4!]) {
      const loads = clauses
        .filter(({ verdict }) => verdict !== 'not-comparable')
        .flatMap(({ condition }) => condition?.match(/[\d,]+(?= sends)/)?.[0] ?? []);
      expect(new Set(loads)).toEqual(new Set(['1,000', '2,500']));
    }
  });

  test('about rates are not comparable if all cores are busy and the bar is not reached', () => {
    const slow: Formula = {
      ...reference,
      rate: (params, chance) => reference.rate(params, chance) ** 0.8,
      cpuCores: 8,
    };
    const verdicts = verdictsOf(slow);
    expect([verdicts.D3, verdicts.D4]).toEqual(['not-comparable', 'not-comparable']);
  });
});
