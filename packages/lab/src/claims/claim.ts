import type { ClaimResult } from '@shardlab/contract';

export interface Claim {
  id: string;
  title: string;
  /** The statement of the document, in our words. */
  document: string;
  grade: ClaimResult['grade'];
}
