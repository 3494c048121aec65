/** A finding of the checker: a broken promise, and the operations that contradict each other. */
import type { Operation } from '../record/operation.ts';

export const violationKinds = [
  'loss',
  'invention',
  'doubling',
  'stale',
  'order',
  'torn',
  'agreement',
  'exclusion',
  'damage',
  'early',
] as const;

/**
 * `stale`: a hold that had ended was accepted as one. `torn`: a transaction happened in part. `agreement`: a global transaction
 * committed in one branch and not in another. `exclusion`: a lease had two holders. `early`: delivered before its delay was over.
 * The others are named for what they mean.
 */
export type ViolationKind = (typeof violationKinds)[number];

export interface Violation {
  kind: ViolationKind;
  /** One sentence. */
  sentence: string;
  /** The message it is about, if it is about one. */
  message?: string | undefined;
  /** The contradiction: no fewer operations show it. */
  operations: Operation[];
}

/** Part of a contradiction. */
export interface Evidence {
  sentence: string;
  operations: Operation[];
}
