/** Figures of any program's points, as judges compare them. */
import type { Point, Provenance } from '@shardlab/contract';
import { provenanceOf } from './queue-points.ts';
import { type Sample, sampleOf } from './sample.ts';

/**
 * The repeats of a figure, and which of them were not steady; an empty sample if the point has no such figure. If some repeats lack
 * the figure, nothing tells which of them its values are from, and all count as steady.
 */
export function figureSample({ figures, repeats }: Point, name: string): Sample {
  const values = figures[name]?.repeats ?? [];
  if (values.length !== repeats.length) return sampleOf(values);
  return sampleOf(
    values,
    repeats.map(({ steady }) => steady?.isSteady === false),
  );
}

/** Emulated if a figure of one of the points is. */
export const provenanceOfPoints = (points: readonly Point[]): Provenance =>
  provenanceOf(points.flatMap(({ figures }) => Object.values(figures)));
