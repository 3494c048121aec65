/** Judges of what a power cut loses (J4 to J6): findings of Jepsen on NATS 2.12.1, and the setting that ends them. */
import type { ClaimClause, Point } from '@shardlab/contract';
import { clauseOf, needs } from '../../../judging/clause.ts';
import { exactFigure } from '../../../judging/exact-counts.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample } from '../../../judging/point-samples.ts';

const conditions: Readonly<Record<string, string>> = {
  all: 'all servers lose power at once',
  one: 'one server loses power while another is cut off',
};

interface Cut {
  cut?: 'all' | 'one';
  system: string;
}

const cutPoints = (all: readonly Point[], { cut, system }: Cut) =>
  all.filter(
    (point) =>
      point.program === 'jetstream-power-cut' &&
      point.system === system &&
      (cut === undefined || point.params.cut === cut),
  );

function factsOf({ params, figures: { acknowledged, consumed } }: Point) {
  return {
    condition: conditions[String(params.cut)] ?? String(params.cut),
    unit: 'messages lost',
    numbers: `Of ${acknowledged?.value ?? 0} acknowledged messages ${consumed?.value ?? 0} were consumed.`,
  };
}

/** A clause about something that can happen: a single case decides. */
function onceClause(point: Point): ClaimClause {
  const sample = figureSample(point, 'lost');
  const { repeats } = sample;
  const clause = clauseOf({
    ...factsOf(point),
    statement: 'what was acknowledged is lost',
    sample,
    over: 0.5,
    noise: 0.25,
    provenance: 'measured',
    digits: 0,
  });
  const cases = repeats.filter((lost) => lost > 0);
  if (cases.length === 0) return clause;
  return {
    ...clause,
    verdict: 'holds',
    provisional: false,
    value: Math.max(...cases),
    interval: null,
    reason: `${clause.reason} It happened in ${cases.length} of ${repeats.length}, and a single case decides.`,
  };
}

/** A run that acknowledged nothing proves nothing. */
const hasAcknowledged = ({ figures }: Point) => (figures.acknowledged?.value ?? 0) > 0;

const loses =
  (cut: 'all' | 'one'): Judge =>
  (all) => {
    const points = cutPoints(all, { cut, system: 'jetstream-r3' }).filter(hasAcknowledged);
    return points.length > 0
      ? points.map(onceClause)
      : needs('Needs points of three servers that do not sync, whose power is cut.');
  };

export const judgeJ4 = loses('all');
export const judgeJ5 = loses('one');

export const judgeJ6: Judge = (all) => {
  const points = cutPoints(all, { system: 'jetstream-r3-synced' }).filter(hasAcknowledged);
  return points.length > 0
    ? points.flatMap((point) =>
        exactFigure(point, {
          ...factsOf(point),
          name: 'lost',
          value: 0,
          statement: 'nothing that was acknowledged is lost',
        }),
      )
    : needs('Needs points of three servers that sync, whose power is cut.');
};
