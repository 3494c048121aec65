/** How the time of a message changes from one point to another, event by event. */
import { type ActivityClass, inUnit, type PointActivity } from './active-sessions.ts';
import { formatUsShort } from './format-change.ts';

export interface ChangeStep {
  name: string;
  class: ActivityClass;
  /** Microseconds a message at the first and at the second point. */
  fromUs: number;
  toUs: number;
}

export interface ActivityChange {
  fromUs: number;
  toUs: number;
  /** Largest change first. */
  steps: ChangeStep[];
}

type PointTime = Pick<PointActivity, 'activities' | 'sessions' | 'messagesPerSec'>;

/** Null if one of the points delivered nothing. */
export function activityChange(from: PointTime, to: PointTime): ActivityChange | null {
  if (from.messagesPerSec === 0 || to.messagesPerSec === 0) return null;
  const us = (point: PointTime, name: string) =>
    inUnit(point.activities.find((each) => each.name === name)?.sessions ?? 0, 'us', point.messagesPerSec);
  const classes = new Map(
    [...from.activities, ...to.activities].map((each) => [each.name, each.class] as const),
  );
  const steps = [...classes].map(([name, ofClass]) => ({
    name,
    class: ofClass,
    fromUs: us(from, name),
    toUs: us(to, name),
  }));
  return {
    fromUs: inUnit(from.sessions, 'us', from.messagesPerSec),
    toUs: inUnit(to.sessions, 'us', to.messagesPerSec),
    steps: steps.sort((a, b) => Math.abs(b.toUs - b.fromUs) - Math.abs(a.toUs - a.fromUs)),
  };
}

/** "Per message: +74 µs write lock, −3 µs on CPU", the largest `count` changes. */
export function changeInWords({ steps }: ActivityChange, count = 3): string {
  const changes = steps
    .slice(0, count)
    .filter(({ fromUs, toUs }) => fromUs !== toUs)
    .map(({ name, fromUs, toUs }) => `${formatUsShort(toUs - fromUs)} ${name}`);
  return changes.length === 0 ? 'No change' : `Per message: ${changes.join(', ')}`;
}
