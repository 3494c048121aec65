/** A study that consists of this folder only: `studies.test.ts` shows that the harness needs nothing else of it. */
import { figureOf } from '@shardlab/contract';
import type { Study } from '../../../src/studies/study.ts';

export const study: Study = {
  id: 'toy',
  document: {
    letter: 'Z',
    title: 'A toy document',
    kind: 'Note',
    date: '2026-01',
    about: 'It claims that a queue gives back what it was given.',
  },
  claims: [
    {
      id: 'Z1',
      title: 'Everything arrives',
      document: 'As many messages are dequeued as are enqueued.',
      grade: 'prose',
      judge: (points) => ({
        verdict:
          points.length > 0 && points.every((point) => figureOf(point, 'dequeuePerSec') > 0)
            ? 'holds'
            : 'inconclusive',
        value: points.length,
        unit: 'points',
        interval: null,
        reason: `${points.length} points were measured.`,
      }),
    },
  ],
  notMeasured: [{ statement: 'It is a joy', reason: 'joy has no unit' }],
};
