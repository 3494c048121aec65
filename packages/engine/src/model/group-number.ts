/** Numbers of group commits: unique in the life of an instance's file, and increasing. */
import type { GroupNumber } from './ids.ts';

/** The groups of an epoch are numbered from `epoch × groupsPerEpoch + 1`, so none repeats; the base itself is the opening. */
export const groupsPerEpoch = 2 ** 32;

/** The number as text for error messages: the number within its epoch, and the epoch. */
export function formatGroupNumber(groupNumber: GroupNumber): string {
  return `${groupNumber % groupsPerEpoch} of epoch ${Math.floor(groupNumber / groupsPerEpoch)}`;
}
