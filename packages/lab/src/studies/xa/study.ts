/** The study of a blog post about XA transactions whose branches are on several instances of a cluster. */
import { xaProgram } from '../../programs/xa/xa-program.ts';
import type { Study } from '../study.ts';
import { claims } from './claims.ts';
import { documentNumbers } from './document/document-numbers.ts';
import { documentTables } from './document/document-tables.ts';
import { notBuilt, notMeasured } from './not-measured.ts';

export const study: Study = {
  id: 'xa',
  document: {
    letter: 'C',
    title: 'XA performance considerations with Oracle Clusterwide XA Transaction',
    kind: 'Blog post',
    author: 'Not named',
    date: 'undated, tests release 12.1.0.1',
    addresses: [],
    about:
      'Inserts in local transactions and in XA transactions with two branches, on one instance and on two, on a slow redo disk that all share and on an SSD; with what a session waited for in each, and the round trips that it made.',
  },
  claims,
  documentNumbers,
  tables: documentTables,
  notMeasured,
  notBuilt,
  programs: [xaProgram],
  heroes: [{ chart: 'sequence' }],
  reportFigures: {
    xa: [
      'elapsedMs',
      'transactionsPerSec',
      'callsPerTransaction',
      'roundTripsPerTransaction',
      'syncsPerTransaction',
      'syncMsPerWait',
      'lockWaitsPerTransaction',
      'lockMsPerTransaction',
      'cpuUsPerTransaction',
      'activeTogetherShare',
      'timeAccounted',
    ],
  },
};
