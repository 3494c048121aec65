/** Figures of any program's points, as judges compare them. */
import type { Point, Provenance } from '@shardlab/contract';
import { provenanceOf } from './queue-points.ts';
import { type Sample, sampleOf } from './sample.ts';

/** The repeats of a figure; an empty sample if the point has no such figure. */
export const figureSample = ({ figures }: Point, name: string): Sample =>
  sampleOf(figures[name]?.repeats ?? []);

/** Emulated if a figure of one of the points is. */
export const provenanceOfPoints = (points: readonly Point[]): Provenance =>
  provenanceOf(points.flatMap(({ figures }) => Object.values(figures)));
