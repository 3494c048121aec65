/** The chart that a run is about. */
import type { HeroChart, Point, Scenario, StudyInfo } from '@shardlab/contract';

/** The hero that the study of the scenario names, or else one by the scenario's content: faults and a conversion happen in time. */
export function heroOf(
  { program, figure, faults, conversion }: Pick<Scenario, 'program' | 'figure' | 'faults' | 'conversion'>,
  study: Pick<StudyInfo, 'heroes'> | undefined,
): HeroChart {
  const named = study?.heroes.find(
    (hero) =>
      (hero.program === undefined || hero.program === program) &&
      (hero.figure === undefined || hero.figure === figure),
  );
  if (named !== undefined) return named.chart;
  return faults !== undefined || conversion !== undefined ? 'rate over time' : 'figure';
}

/** The point whose trace such a hero shows: the chosen one, or the last that has any; null if none has. */
export function tracedPoint(hero: HeroChart, points: readonly Point[], selected: Point | null): Point | null {
  const hasTrace = ({ swimlanes = [], sequence = [] }: Point) =>
    (hero === 'lanes' && swimlanes.length > 0) || (hero === 'sequence' && sequence.length > 0);
  if (selected !== null && hasTrace(selected)) return selected;
  return points.findLast(hasTrace) ?? null;
}
