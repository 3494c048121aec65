/** The ways in which a process is killed. Add one here and it takes its turns. */
import type { Random } from './random.ts';
import type { KillPoint, SelfKillPlan } from './self-kill.ts';

export interface Kill {
  phase: string;
  /** How often it is chosen, against the others. */
  weight: number;
  /** What the process is told to do to itself, if it is to. */
  selfKill?(random: Random): SelfKillPlan;
  /** Otherwise: the moment that a time is counted from, and the longest such time, milliseconds. */
  from?: 'start' | 'opening' | 'working';
  withinMs?: number;
  /** It is asked to close its instance first. */
  closing?: boolean;
}

const atPoint = (point: KillPoint, weight: number): Kill => ({
  phase: point,
  weight,
  // Past the dozen commits of its start and of whatever it recovered.
  selfKill: (random) => ({ point, commit: 1 + random.below(120) }),
});

export const kills: readonly Kill[] = [
  { phase: 'at work', weight: 6, from: 'working', withinMs: 250 },
  atPoint('before the group', 2),
  atPoint('group under way', 4),
  atPoint('acknowledged', 3),
  { phase: 'opening and recovery', weight: 4, from: 'opening', withinMs: 90 },
  { phase: 'starting', weight: 1, from: 'start', withinMs: 250 },
  { phase: 'closing', weight: 2, from: 'working', withinMs: 12, closing: true },
];

/** One of them, by weight. */
export function pickKill(random: Random): Kill {
  const drawn = kills.flatMap((kill) => Array.from({ length: kill.weight }, () => kill));
  return random.pick(drawn);
}
