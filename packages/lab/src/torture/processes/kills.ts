/** The ways in which a process is killed. A kind added here is used automatically. */
import type { Random } from './random.ts';
import type { KillPoint, SelfKillPlan } from './self-kill.ts';

export interface Kill {
  phase: string;
  /** Relative frequency. */
  weight: number;
  /** Set if the process is to kill itself. */
  selfKill?(random: Random): SelfKillPlan;
  /** Otherwise: the event after which the process is killed, and the longest delay, milliseconds. */
  countedFrom?: 'start' | 'opening' | 'working';
  withinMs?: number;
  /** The process is asked to close its instance first. */
  closing?: boolean;
}

const atPoint = (point: KillPoint, weight: number): Kill => ({
  phase: point,
  weight,
  // After the dozen commits of startup and recovery.
  selfKill: (random) => ({ point, commit: 1 + random.below(120) }),
});

export const kills: readonly Kill[] = [
  { phase: 'at work', weight: 6, countedFrom: 'working', withinMs: 250 },
  atPoint('before the group', 2),
  atPoint('group under way', 4),
  atPoint('acknowledged', 3),
  { phase: 'opening and recovery', weight: 4, countedFrom: 'opening', withinMs: 90 },
  { phase: 'starting', weight: 1, countedFrom: 'start', withinMs: 250 },
  { phase: 'closing', weight: 2, countedFrom: 'working', withinMs: 12, closing: true },
];
