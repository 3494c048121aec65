import type { Point } from '@shardlab/contract';

/** Selects the points of queues or of topics: a claim is about one of them. */
export const ofType = (type: 'queue' | 'topic') => (points: readonly Point[]) =>
  points.filter(({ params }) => (params.subscribers !== undefined) === (type === 'topic'));
