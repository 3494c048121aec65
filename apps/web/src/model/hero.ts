import type { Scenario } from '@shardlab/contract';

/** The chart that a run is about. */
export type Hero = 'scaling' | 'rate over time' | 'cpu';

/** A fault or a conversion happens in time; the document's Figure 10 shows the CPU of its instances. */
export function heroOf({ faults, conversion, figure, study }: Scenario): Hero {
  if (faults !== undefined || conversion !== undefined) return 'rate over time';
  return study === 'white-paper' && figure === 'Figure 10' ? 'cpu' : 'scaling';
}
