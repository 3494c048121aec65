import type { ClaimResult } from '@shardlab/contract';

export interface Claim {
  id: string;
  title: string;
  /** What the document says, in our words. */
  document: string;
  grade: ClaimResult['grade'];
}
