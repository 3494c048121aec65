/**
 * A study that consists of this folder only, with a program and a scenario of its own: `studies.test.ts`, and tests of the server and
 * the dashboard, show that nothing else has to know of it.
 */
import { registerCounter, registerWaitEvent } from '@shardlab/engine';
import { clauseOf } from '../../../src/judging/clause.ts';
import { ratioOf, sampleOf } from '../../../src/judging/sample.ts';
import type { Study } from '../../../src/studies/study.ts';
import { toyProgram } from './toy-program.ts';

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
    {
      id: 'Z2',
      title: 'Children share',
      document: 'Of four children each has a quarter of the turns that one child alone has.',
      where: 'its margin',
      stated: 'four get a quarter each',
      grade: 'prose',
      judge: (points) => {
        const turnsOf = (children: number) =>
          points.find(({ params }) => params.children === children)?.figures.turnsPerChild?.repeats;
        const [one, four] = [turnsOf(1), turnsOf(4)];
        if (one === undefined || four === undefined) return [];
        return [
          clauseOf({
            statement: 'a quarter each',
            unit: '× the turns of one child',
            sample: ratioOf(sampleOf(four), sampleOf(one)),
            under: 0.3,
            provenance: 'measured',
          }),
        ];
      },
    },
  ],
  programs: [toyProgram],
  notMeasured: [{ statement: 'It is a joy', reason: 'joy has no unit' }],
};
