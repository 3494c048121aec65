/** The figures of the document as tables, which pages and reports show beside measured ones. */
import type { DocumentTable } from '@shardlab/contract';
import {
  type DocumentRow,
  type GuardName,
  getsOfCase2,
  listenDocument,
  modelGets,
} from './document-figures.ts';

const pairsColumns = [
  ['pairs', 'Pairs of sessions'],
  ['messages', 'Messages of a session in 60 s'],
  ['latchGets', 'Latch gets'],
  ['latchNsPerGet', 'ns a latch get'],
  ['mutexGets', 'Mutex gets'],
  ['mutexNsPerGet', 'ns a mutex get'],
  ['latchGetsPerDequeue', 'Latch gets per dequeue'],
  ['mutexGetsPerDequeue', 'Mutex gets per dequeue'],
  ['latchNsPerDequeue', 'Latch ns per dequeue'],
  ['mutexNsPerDequeue', 'Mutex ns per dequeue'],
  ['dequeuePerSec', 'Messages a second of all sessions (Total_MSGs ÷ 60 s)'],
] as const;

/** Of the document's column Total_MSGs, which is one session's count times the sessions. */
const dequeuesPerSec = ({ sessions, messages }: DocumentRow) => Math.round((sessions * messages) / 60);

const guards: readonly GuardName[] = ['latch', 'mutex'];

const pairsTable: DocumentTable = {
  id: 'pairs',
  title: 'Parallel sessions: gets and their time',
  source: 'table of 1 to 64 sessions',
  columns: pairsColumns.map(([name, title]) => ({ name, title })),
  rows: listenDocument.table.map((row) =>
    pairsColumns.map(([name]) =>
      name === 'dequeuePerSec' ? dequeuesPerSec(row) : row[name === 'pairs' ? 'sessions' : name],
    ),
  ),
  curves: {
    program: 'listen',
    over: 'pairs',
    system: 'shared-topic',
    params: { method: 'listen', copies: 1 },
  },
};

const histogramTable: DocumentTable = {
  id: 'get-histograms',
  title: 'Nanoseconds of a get, by powers of two',
  source: 'histograms with 4 and 64 sessions',
  columns: [
    { name: 'guard', title: 'Guard' },
    { name: 'pairs', title: 'Pairs of sessions' },
    { name: 'fromNs', title: 'From, ns' },
    { name: 'count', title: 'Gets' },
  ],
  rows: guards.flatMap((guard) =>
    Object.entries(listenDocument.histograms[guard]).flatMap(([pairs, { fromNs, counts }]) =>
      counts.map((count, index) => [guard, Number(pairs), fromNs * 2 ** index, count]),
    ),
  ),
};

/**
 * Gets per dequeue are this factor times the sessions: 12 · N · M gets of the mutex for M dequeues, 6 · N · M of the latch. Each further
 * wake-up takes as many, beyond those of a dequeue that is woken once.
 */
const modelTable: DocumentTable = {
  id: 'model',
  title: 'Gets that one more session adds to a dequeue',
  source: 'formulas 12 · N · M and 6 · N · M',
  columns: [
    { name: 'guard', title: 'Guard' },
    { name: 'getsPerSession', title: 'Gets per dequeue and session' },
    { name: 'getsWokenOnce', title: 'Gets of a dequeue that is woken once (case 2)' },
  ],
  rows: guards.map((guard) => [guard, modelGets[guard], getsOfCase2[guard]]),
};

const { check } = listenDocument;

const checkTable: DocumentTable = {
  id: 'check',
  title: `Check of the formula for the latch: ${check.sessions} sessions, ${check.dequeues.toLocaleString('en-US')} dequeues`,
  source: 'section 2.3, from a report',
  columns: [
    { name: 'what', title: 'What' },
    { name: 'count', title: 'Count' },
  ],
  rows: [
    ['Gets by the formula', check.computed],
    ['Misses', check.misses],
    ['Gets by the formula, with the misses', check.withMisses],
    ['Gets that were counted', check.counted],
    [`Difference, ${check.errorShare * 100} % of the count`, check.counted - check.withMisses],
    ['Sleeps', check.sleeps],
    ['Spin gets', check.spinGets],
    ['Recurrent sleeps: sleeps + spin gets − misses', check.recurrentSleeps],
  ],
};

const events = { mutex: 'library cache: mutex X', latch: 'latch free' } as const;

const reportTable: DocumentTable = {
  id: 'top-events',
  title: 'Top foreground events of 80 and 80 sessions for ten minutes',
  source: 'the two reports',
  columns: [
    { name: 'method', title: 'Method' },
    { name: 'event', title: 'Event' },
    { name: 'waits', title: 'Waits' },
    { name: 'seconds', title: 'Total wait, s' },
    { name: 'shareOfTime', title: 'Share of DB time' },
  ],
  rows: (['listen', 'subscriber'] as const).flatMap((method) =>
    (['mutex', 'latch'] as const).flatMap((guard) => {
      const row = listenDocument.report[method][guard];
      return row === null ? [] : [[method, events[guard], row.waits, row.seconds, row.shareOfTime]];
    }),
  ),
};

export const documentTables: readonly DocumentTable[] = [
  pairsTable,
  histogramTable,
  modelTable,
  checkTable,
  reportTable,
];
