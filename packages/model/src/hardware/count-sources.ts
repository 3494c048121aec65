/** How much of a hardware file is evidence: the number of its costs, counts and switches by their source. */
import type { HardwareFile, SourcedNumber } from './hardware-file.ts';
import { sourcesOf } from './resolve-hardware.ts';

export type SourceCounts = Record<SourcedNumber['source'], number>;

export function countSources({ costs }: Pick<HardwareFile, 'costs'>): SourceCounts {
  const counts: SourceCounts = { stated: 0, measured: 0, built: 0, chosen: 0, fitted: 0 };
  for (const { leaf } of sourcesOf(costs)) counts[leaf.source] += 1;
  return counts;
}

/** One sentence for the head of a report. */
export function sourcesInWords(
  hardware: Pick<HardwareFile, 'costs' | 'parameters' | 'observations'>,
): string {
  const counts = countSources(hardware);
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const parameters = Object.keys(hardware.parameters).length;
  const parts = [
    [counts.measured, 'measured'],
    [counts.stated, 'stated by a document'],
    [counts.built, 'facts of the design'],
    [counts.chosen, 'chosen without evidence'],
    [
      counts.fitted,
      `chosen multiples of ${parameters} free parameters, which were fitted to ${hardware.observations.length} observations`,
    ],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, words]) => `${count} ${words}`);
  return `Of ${all} numbers and switches: ${told.join(', ')}.`;
}
