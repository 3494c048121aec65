/** Which points of a run are killed to show durability. Pure. */
import type { Scenario } from '@shardlab/contract';
import type { Program } from '../programs/program.ts';
import type { Trial } from '../trial/trial.ts';

/**
 * The first trials of the points after which a trial is killed: one point for each system and durability, chosen
 * by the seed of those that can be killed. None in a scenario with faults or a conversion, whose trials
 * have kills of their own or end with another queue.
 */
export function sampleKills(
  { kills = true, faults, conversion, seed }: Scenario,
  { kill }: Pick<Program, 'kill'>,
  trials: readonly Trial[],
): Set<Trial> {
  if (!kills || kill === undefined || faults !== undefined || conversion !== undefined) return new Set();
  const candidates = new Map<string, Trial[]>();
  for (const trial of trials) {
    if (trial.repeat > 0 || !kill.canKill(trial)) continue;
    const group = `${trial.system}/${kill.durabilityOf(trial)}`;
    candidates.set(group, [...(candidates.get(group) ?? []), trial]);
  }
  return new Set([...candidates.values()].map((group, index) => group[drawn(seed, index) % group.length]!));
}

/** A number from 0 to 2³² that the seed and the group decide (the finaliser of MurmurHash3). */
function drawn(seed: number, index: number): number {
  let bits = Math.imul(seed ^ Math.imul(index + 1, 0x9e3779b1), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
