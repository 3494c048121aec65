import { roundEstimate } from '@shardlab/contract';

/** "45 s", "2 min 10 s", "3 h 5 min": at most two units, rounded to the smaller one. */
export function durationInWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  const rest = Math.round((seconds % 3600) / 60);
  return rest === 0 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 60)} h ${rest} min`;
}

/** "2 min 30 s" */
export const estimateInWords = (ms: number): string => durationInWords(roundEstimate(ms));
