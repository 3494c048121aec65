/** Judges of what replicas, synced acknowledgements and backlogs cost (J7 to J10). */
import { type ClaimClause, numberParam, type Point } from '@shardlab/contract';
import { clauseOf, needs } from '../../../judging/clause.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample } from '../../../judging/point-samples.ts';
import { ratioOf } from '../../../judging/sample.ts';
import { perSec } from '../../../programs/figures-in-words.ts';
import { documentValues } from '../document/document-values.ts';

const figure = 'dequeuePerSec';
const rateOf = (point: Point) => figureSample(point, figure);
const inWords = ({ system, figures }: Point) => `${system} ${perSec(figures[figure]?.value ?? 0)}`;

/** Points of a load without a backlog, by what is done: the systems that did the same. */
function loadsOf(points: readonly Point[]): Map<string, Point[]> {
  return Map.groupBy(
    points.filter(({ program }) => program === 'closed-loop'),
    ({ params }) => {
      const { subscribers = 0, enqueuers, dequeuers, operationsPerTransaction } = params;
      const what = subscribers === 0 ? 'queue' : `topic with ${subscribers} subscribers`;
      return `${what}, ${enqueuers} + ${dequeuers} sessions, ${operationsPerTransaction} a transaction`;
    },
  );
}

interface Comparison {
  over: string;
  under: string;
  statement: string;
  bar: { over?: number; under?: number };
}

/** Compares two systems at every load that both had: the rate of one as a share of the other's. */
const compared =
  (comparisons: readonly Comparison[]): Judge =>
  (all) => {
    const clauses = [...loadsOf(all)].flatMap(([load, points]) =>
      comparisons.flatMap(({ over, under, statement, bar }): ClaimClause[] => {
        const [one, other] = [over, under].map((id) => points.find(({ system }) => system === id));
        if (one === undefined || other === undefined) return [];
        return [
          clauseOf({
            condition: load,
            statement,
            unit: `× the dequeue rate of ${under}`,
            sample: ratioOf(rateOf(one), rateOf(other)),
            ...bar,
            provenance: 'measured',
            numbers: `${inWords(one)} over ${inWords(other)}.`,
          }),
        ];
      }),
    );
    const pairs = comparisons.map(({ over, under }) => `${over} and ${under}`).join(', or of ');
    return clauses.length > 0 ? clauses : needs(`Needs points of a closed loop of ${pairs}.`);
  };

export const judgeJ7 = compared(
  (['r1', 'r3'] as const).map((replicas) => ({
    over: `jetstream-${replicas}-synced`,
    under: `jetstream-${replicas}`,
    statement: `syncing costs ${replicas === 'r1' ? 'one server' : 'three servers'} part of the rate`,
    bar: { under: documentValues.syncedShareMax },
  })),
);

export const judgeJ8 = compared([
  {
    over: 'jetstream-r3',
    under: 'jetstream-r1',
    statement: 'three replicas cost',
    bar: { under: documentValues.replicatedShareMax },
  },
]);

export const judgeJ9 = compared([
  {
    over: 'sharded-remote',
    under: 'jetstream-r3-synced',
    statement: 'our engine in its own process is faster',
    bar: { over: documentValues.localOverReplicatedMin },
  },
]);

export const judgeJ10: Judge = (all) => {
  const bySystem = Map.groupBy(
    all.filter(({ program, system }) => program === 'standing-backlog' && system.startsWith('jetstream-')),
    ({ system }) => system,
  );
  const clauses = [...bySystem].flatMap(([system, points]): ClaimClause[] => {
    const sorted = points.toSorted((a, b) => backlogOf(a) - backlogOf(b));
    const [least, most] = [sorted[0]!, sorted.at(-1)!];
    if (backlogOf(most) < documentValues.backlogRatioMin * backlogOf(least)) return [];
    return [
      clauseOf({
        condition: system,
        statement: 'the rate hardly falls',
        unit: '× the dequeue rate with a small backlog',
        sample: ratioOf(rateOf(most), rateOf(least)),
        over: documentValues.backlogShareMin,
        provenance: 'measured',
        numbers: `${[most, least].map((point) => `${perSec(point.figures[figure]?.value ?? 0)} with ${backlogOf(point).toLocaleString('en-US')}`).join(' over ')}.`,
      }),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs(
        `Needs points of a standing backlog on JetStream, and of one that is ${documentValues.backlogRatioMin} times as large.`,
      );
};

const backlogOf = ({ params }: Point) => numberParam(params, 'backlog');
