/** The study of Oracle's white paper about JMS sharded queues. */
import { unseenByKernel } from '../../judging/evidence.ts';
import type { Study } from '../study.ts';
import { documentNumbers } from './document/document-numbers.ts';
import { figureClaims } from './figure-claims.ts';
import { notBuilt, notMeasured } from './not-measured.ts';
import { wordClaims } from './word-claims.ts';

export const study: Study = {
  id: 'white-paper',
  document: {
    letter: 'A',
    title: 'Oracle Database 12c: JMS Sharded Queues',
    kind: 'Oracle white paper',
    author: 'Oracle Corporation; no person is named',
    addresses: [{ title: 'Publisher', address: 'oracle.com' }],
    date: '2015-03',
    about:
      'Queues split into shards, one or more per instance, so that sessions of different instances need no common index. It reports rates, CPU and response times on eight nodes.',
  },
  claims: [...figureClaims, ...wordClaims].map((claim) => ({
    ...claim,
    weakAt: unseenByKernel,
  })),
  notMeasured,
  documentNumbers,
  notBuilt,
  heroes: [{ figure: 'Figure 10', chart: 'cpu over time' }],
};
