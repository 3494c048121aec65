/** The rows that transactions insert, each with the message that they enqueue: as the document's do. */
import type { Session } from '@shardlab/engine';
import { firstOfFolders } from './folders.ts';
import type { XaInstances } from './instances.ts';
import type { XaParams } from './xa-params.ts';

const table = `CREATE TABLE inserted (session INTEGER, sequence INTEGER, payload BLOB, PRIMARY KEY (session, sequence))
  STRICT, WITHOUT ROWID`;

export interface InsertedRow {
  session: number;
  sequence: number;
  payload: Uint8Array;
}

export const insertRow = (session: Session, { session: number, sequence, payload }: InsertedRow): void =>
  session.execute('INSERT INTO inserted VALUES (?, ?, ?)', [number, sequence, payload]);

export async function createTables({ all }: XaInstances, params: XaParams): Promise<void> {
  for (const instance of firstOfFolders(params, all)) await run(instance, table);
}

/** Throws unless each transaction of each session has left its row. */
export async function assertRows({ all }: XaInstances, params: XaParams): Promise<void> {
  let found = 0;
  for (const instance of firstOfFolders(params, all)) {
    const { rows } = await run(instance, 'SELECT count(*) AS count FROM inserted');
    found += rows[0]!.count as number;
  }
  const expected = params.sessions * params.messagesPerSession;
  if (found !== expected) throw new Error(`${expected} rows were committed, but there are ${found}`);
}

async function run(instance: XaInstances['all'][number], sql: string) {
  const session = instance.openSession();
  try {
    session.execute(sql);
    return (await session.commit()).results[0]!;
  } finally {
    await session.close();
  }
}
