/** The document's runs and their wait tables, which pages show beside measured ones. */
import type { DocumentTable } from '@shardlab/contract';
import type { XaParams } from '../../../programs/xa/xa-params.ts';
import { type RunName, waitOf, xaDocument } from './document-figures.ts';

/** Parameters of the points that repeat a run; null where it has none. */
const repeatedBy: Readonly<
  Record<
    RunName,
    Pick<XaParams, 'transaction' | 'instances' | 'sessions'> & { preparedBy: XaParams['preparedBy'] | null }
  >
> = {
  C1: { transaction: 'local', instances: 1, sessions: 1, preparedBy: null },
  C2: { transaction: 'local', instances: 2, sessions: 2, preparedBy: null },
  C3: { transaction: 'local', instances: 2, sessions: 2, preparedBy: null },
  C4: { transaction: 'two-branches', instances: 1, sessions: 2, preparedBy: 'own' },
  C5: { transaction: 'two-branches', instances: 2, sessions: 2, preparedBy: 'own' },
  C6: { transaction: 'two-branches', instances: 2, sessions: 2, preparedBy: 'other' },
};

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const names = Object.keys(xaDocument) as RunName[];

const runsTable: DocumentTable = {
  id: 'runs',
  title: 'Elapsed time, round trips and CPU of each run',
  source: 'output of tests 1 and 2, the same on SSD, and XA 1 to 3',
  columns: [
    { name: 'run', title: 'Run' },
    { name: 'title', title: 'Heading' },
    { name: 'transaction', title: 'Transaction' },
    { name: 'instances', title: 'Instances' },
    { name: 'sessions', title: 'Sessions' },
    { name: 'preparedBy', title: 'Branches prepared by' },
    { name: 'inserts', title: 'Inserts' },
    { name: 'elapsedS', title: 'Elapsed, s' },
    { name: 'roundTrips', title: 'Round trips' },
    { name: 'cpuS', title: 'CPU, s' },
    { name: 'syncMs', title: 'Mean log file sync, ms' },
  ],
  rows: names.map((name) => {
    const { title, inserts, elapsedS, roundTrips, cpuCs } = xaDocument[name];
    const { transaction, instances, sessions, preparedBy } = repeatedBy[name];
    const { waits, totalS } = waitOf(xaDocument[name], 'log file sync');
    return [
      name,
      title,
      transaction,
      instances,
      sessions,
      preparedBy,
      inserts,
      elapsedS,
      sum(roundTrips),
      sum(cpuCs) / 100,
      Number(((1_000 * totalS) / waits).toPrecision(3)),
    ];
  }),
};

const waitsTable: DocumentTable = {
  id: 'waits',
  title: 'What one session waited for, run by run',
  source: 'tables “Elapsed times include waiting on following events”, without events of 0.00 s',
  columns: [
    { name: 'run', title: 'Run' },
    { name: 'event', title: 'Event waited on' },
    { name: 'waits', title: 'Times waited' },
    { name: 'maxS', title: 'Max. wait, s' },
    { name: 'totalS', title: 'Total waited, s' },
  ],
  rows: names.flatMap((name) => xaDocument[name].waits.map((row) => [name, ...row])),
};

export const documentTables: readonly DocumentTable[] = [runsTable, waitsTable];
