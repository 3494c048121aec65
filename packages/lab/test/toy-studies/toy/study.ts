/** A study that consists of this folder only: `studies.test.ts` shows that the harness needs nothing else of it. */
import { registerCounter, registerWaitEvent } from '@shardlab/engine';
import { clauseOf } from '../../../src/judging/clause.ts';
import { sampleOf } from '../../../src/judging/sample.ts';
import type { Study } from '../../../src/studies/study.ts';

export const toyBox = registerWaitEvent({
  name: 'toy box',
  class: 'concurrency',
  about: 'another child has the box',
});
export const givenBack = registerCounter({ name: 'toys', unit: 'toys', about: 'toys that were given back' });

export const study: Study = {
  id: 'toy',
  document: {
    letter: 'Z',
    title: 'A toy document',
    kind: 'Note',
    author: 'A child',
    addresses: [],
    date: '2026-01',
    about: 'It claims that a queue gives back what it was given.',
  },
  claims: [
    {
      id: 'Z1',
      title: 'Everything arrives',
      document: 'As many messages are dequeued as are enqueued.',
      where: 'its only line',
      stated: 'what goes in comes out',
      grade: 'prose',
      judge: (points) =>
        points.map((point) =>
          clauseOf({
            statement: 'nothing is lost',
            unit: 'repeats without a loss',
            sample: sampleOf(point.repeats.map(() => (point.integrity.lost === 0 ? 1 : 0))),
            over: 0.5,
            provenance: 'measured',
          }),
        ),
    },
  ],
  notMeasured: [{ statement: 'It is a joy', reason: 'joy has no unit' }],
};
