/** Colours of wait events: the colour of their class; events of one class differ in strength, in the order of the legend. */
import type { ActivityClass } from '../model/active-sessions.ts';
import { waitColor } from './visual-encoding.ts';

export interface EventColor {
  fill: string;
  opacity: number;
}

const strengths = [1, 0.55, 0.3, 0.75, 0.42];

export function eventColors(
  events: readonly { name: string; class: ActivityClass }[],
): Map<string, EventColor> {
  const counts = new Map<ActivityClass, number>();
  return new Map(
    events.map(({ name, class: ofClass }) => {
      const rank = counts.get(ofClass) ?? 0;
      counts.set(ofClass, rank + 1);
      return [name, { fill: waitColor[ofClass]!, opacity: strengths[rank % strengths.length]! }];
    }),
  );
}
