/** Points of impostors as they would be without what exposed them, so that judges must recognise them by their other measurements. */
import type { DurabilityEvidence, Point } from '@shardlab/contract';

/** As if no trial had been killed, with this evidence of durability. */
export const withoutKills = (points: readonly Point[], durability: DurabilityEvidence): Point[] =>
  points.map(({ killed: _, integrity, ...point }) => ({
    ...point,
    integrity: { ...integrity, lost: 0, durability },
  }));

/** As measured on a platform without `/proc`. */
export const withoutKernelCounters = (points: readonly Point[]): Point[] =>
  points.map(({ figures, ...point }) => {
    const { writtenBytesPerSec: _written, blocksPerSec: _blocks, kernelCores: _cores, ...rest } = figures;
    return { ...point, figures: rest };
  });
