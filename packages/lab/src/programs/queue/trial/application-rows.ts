/**
 * The work of an application per message: inserting one row, in the transaction that consumes the message or in a
 * separate one before it. A message that is consumed twice violates the primary key.
 */
import type { Session, SessionTime } from '@shardlab/engine';
import type { LedgerReport } from '../../../integrity/ledger.ts';
import type { PayloadIdentity } from '../../../integrity/payload.ts';
import { countShared } from '../../../integrity/sequence-set.ts';
import { waitingForWork } from '../../../meters/load-waits.ts';
import type { Host } from './host.ts';
import type { Workload } from './workload.ts';

export interface ApplicationRows {
  /** Must be awaited before the messages are committed. The caller resumes the dequeuer's time. */
  write(identities: readonly PayloadIdentity[]): Promise<void>;
  close(): Promise<void>;
}

const insert = 'INSERT INTO handled (enqueuer, sequence, sent_at_ms) VALUES (?, ?, ?)';

export async function createRowsTable(host: Host): Promise<void> {
  await execute(
    host,
    `CREATE TABLE handled (enqueuer INTEGER, sequence INTEGER, sent_at_ms REAL, PRIMARY KEY (enqueuer, sequence))
     STRICT, WITHOUT ROWID`,
  );
}

/** Inserts the rows of one dequeuer. */
export function openRows(
  { host, config, roundTrips }: Workload,
  dequeuer: Session,
  time: SessionTime,
): ApplicationRows | undefined {
  if (config.rows === 'none') return undefined;
  const insertInto = (session: Session, identities: readonly PayloadIdentity[]) => {
    for (const { enqueuer, sequence, sentAtMs } of identities)
      session.execute(insert, [enqueuer, sequence, sentAtMs]);
  };
  if (config.rows === 'together')
    return {
      write: async (identities) => {
        insertInto(dequeuer, identities);
        time.yield(undefined);
      },
      close: async () => undefined,
    };
  const session = host.openSession();
  const own = host.timeOf(session);
  own.resume();
  own.suspend(undefined, waitingForWork);
  return {
    async write(identities) {
      time.suspend(undefined, waitingForWork);
      own.resume();
      insertInto(session, identities);
      if (roundTrips !== null) {
        await roundTrips.wait(own);
        own.resume();
      }
      await own.suspend(session.commit(), host.eventOfCalls);
      own.resume();
      own.suspend(undefined, waitingForWork);
      // The caller resumes its own session.
      time.resume();
      time.yield(undefined);
    },
    async close() {
      await session.close();
      own.close();
    },
  };
}

/** Throws unless there is exactly one row per consumed message. */
export async function assertRows(host: Host, { consumed }: Pick<LedgerReport, 'consumed'>): Promise<void> {
  const { count } = (await execute(host, 'SELECT count(*) AS count FROM handled')).rows[0]!;
  const messages = [...consumed.values()].reduce((sum, words) => sum + countShared(words, words), 0);
  if (count !== messages) throw new Error(`${messages} messages were consumed, but there are ${count} rows`);
}

async function execute(host: Host, sql: string) {
  const session = host.openSession();
  try {
    session.execute(sql);
    return (await session.commit()).results[0]!;
  } finally {
    await session.close();
  }
}
