/** The study of a blog post about message pipelining of JMS consumers. */
import { pipeliningCasesProgram } from '../../programs/pipelining/cases-program.ts';
import { pipeliningProgram } from '../../programs/pipelining/pipelining-program.ts';
import { slowConsumerProgram } from '../../programs/pipelining/slow-consumer-program.ts';
import type { Study } from '../study.ts';
import { claims } from './claims.ts';
import { notBuilt, notMeasured } from './not-measured.ts';

export const study: Study = {
  id: 'pipelining',
  document: {
    letter: 'D',
    title: 'WebLogic JMS Performance Tuning Series, Part 3: Consumer-Side Message Pipelining',
    kind: 'A post of a blog about WebLogic',
    author: 'Not named; code of the same blog is in the package com.darrel.samples',
    addresses: [],
    date: '2012-02-24',
    about:
      'Messages are sent to a JMS consumer ahead of its calls, so that it waits less. Four configurations that add up are compared: the defaults, quotas with blocking sends, one-way sends, and prefetch with 300 messages a session.',
  },
  claims,
  notMeasured,
  notBuilt,
  programs: [pipeliningProgram, pipeliningCasesProgram, slowConsumerProgram],
};
