/** The study of three blog posts about dequeuing from a multi-consumer queue with listen. */
import { listenCasesProgram } from '../../programs/listen/cases-program.ts';
import { listenHerdProgram } from '../../programs/listen/herd-program.ts';
import { listenProgram } from '../../programs/listen/listen-program.ts';
import type { Study } from '../study.ts';
import { claims } from './claims.ts';
import { documentNumbers } from './document/document-numbers.ts';
import { documentTables } from './document/document-tables.ts';
import { notMeasured } from './not-measured.ts';

export const study: Study = {
  id: 'listen',
  document: {
    letter: 'E',
    title: 'Oracle Multi-Consumer AQ dequeue with dbms_aq.listen',
    kind: 'Three posts of the blog ksun-oracle',
    author: 'Not named',
    date: '2023-04-10, the third 2023-04-09',
    addresses: [
      {
        title: 'A post that it refers to, on the hot object',
        address: 'http://ksun-oracle.blogspot.com/2016/11/library-cache-mutex-x-and-application.html',
      },
      {
        title: 'A post that it refers to, on the most subscribers',
        address: 'http://ksun-oracle.blogspot.com/2023/03/one-test-of-ora-00600-kgl-heap-size.html',
      },
    ],
    about:
      'Sessions that listen for messages all wake at every message, and contend for one mutex and one latch; sessions that dequeue by the name of a subscriber do not. It traces the gets of a dequeue, makes a model of them, and counts them with 1 to 64 sessions.',
  },
  claims,
  documentNumbers,
  notMeasured,
  tables: documentTables,
  programs: [listenProgram, listenCasesProgram, listenHerdProgram],
  heroes: [{ program: listenHerdProgram.id, chart: 'lanes' }],
  reportFigures: {
    listen: [
      'dequeuePerSec',
      'mutexGetsPerDequeue',
      'mutexNsPerGet',
      'mutexSleeps',
      'mutexWaitShare',
      'latchGetsPerDequeue',
      'latchNsPerGet',
      'latchSleeps',
      'latchWaitShare',
      'falseWakeUpsPerDequeue',
      'postsPerWakeUp',
      'timeAccounted',
      'runnableShare',
      'preemptedShare',
    ],
  },
};
