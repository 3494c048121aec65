/** The type of a judge, and the part that all judges share: points that prove nothing. */
import type { ClaimClause, Point } from '@shardlab/contract';

export interface JudgeContext {
  /** Cores of the machine that was measured; null before the first measurement. */
  cores: number | null;
  /** Type of the file system that had the trials' files, as the kernel names it. */
  fileSystem?: string;
}

/** Judges the statements of a claim by points, condition by condition. Without any clause the claim is inconclusive. */
export type Judge<Read = Point> = (points: readonly Read[], context: JudgeContext) => readonly ClaimClause[];

/** Whether messages of a point were lost, duplicated, damaged or out of order. */
export const isFaulty = ({
  integrity: { lost, duplicated, damaged, outOfOrder },
}: Pick<Point, 'integrity'>): boolean => lost + duplicated + damaged + outOfOrder > 0;

/** Whether repeats of a point were not steady. */
export const isNotSteady = ({ conditions }: Pick<Point, 'conditions'>): boolean =>
  (conditions?.notSteady ?? 0) > 0;

/** Whether other work disturbed repeats of a point. */
export const isDisturbed = ({ conditions }: Pick<Point, 'conditions'>): boolean =>
  (conditions?.disturbed ?? 0) > 0;
