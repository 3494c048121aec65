/** The study of a blog post about the singleton service of WebLogic clusters. */
import { singletonProgram } from '../../programs/singleton/singleton-program.ts';
import type { Study } from '../study.ts';
import { claims } from './claims.ts';
import { notBuilt, notMeasured } from './not-measured.ts';

export const study: Study = {
  id: 'singleton',
  document: {
    letter: 'D',
    title: 'WebLogic Clusters and the Singleton Service',
    kind: 'A post of a blog about WebLogic',
    author: 'Not named; its code is in the package com.darrel.samples',
    addresses: [],
    date: '2012-03-20',
    about:
      'An object with activate() and deactivate() that is active on one server of a cluster at a time and moves when that is shut down or fails. An example has a value of 5, to which one server adds 8 and of which another reads 13.',
  },
  claims,
  notMeasured,
  notBuilt,
  programs: [singletonProgram],
  heroes: [{ chart: 'lanes' }],
};
