/** The figures of the document as tables, which pages and reports show beside measured ones. */
import type { DocumentTable } from '@shardlab/contract';
import { type DocumentRow, type GuardName, listenDocument, modelGets } from './document-figures.ts';

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
] as const;

const guards: readonly GuardName[] = ['latch', 'mutex'];

const pairsTable: DocumentTable = {
  id: 'pairs',
  title: 'Parallel sessions: gets and their time',
  source: 'table of 1 to 64 sessions',
  columns: pairsColumns.map(([name, title]) => ({ name, title })),
  rows: listenDocument.table.map((row) =>
    pairsColumns.map(([name]) => row[name === 'pairs' ? 'sessions' : (name satisfies keyof DocumentRow)]),
  ),
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

/** Gets per dequeue are this factor times the sessions: 12 · N · M gets of the mutex for M dequeues, 6 · N · M of the latch. */
const modelTable: DocumentTable = {
  id: 'model',
  title: 'Gets that one more session adds to a dequeue',
  source: 'formulas 12 · N · M and 6 · N · M',
  columns: [
    { name: 'guard', title: 'Guard' },
    { name: 'getsPerSession', title: 'Gets per dequeue and session' },
  ],
  rows: guards.map((guard) => [guard, modelGets[guard]]),
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

export const documentTables: readonly DocumentTable[] = [pairsTable, histogramTable, modelTable, reportTable];
