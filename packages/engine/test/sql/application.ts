/** An instance with a queue and a table of the application, and a session of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import {
  type Instance,
  type InstanceOptions,
  openInstance,
  type Session,
  type SqlParameters,
  type SqlResult,
} from '../../src/index.ts';
import { openTestInstance } from '../folder.ts';

export const code = (value: unknown, details: Record<string, unknown> = {}) =>
  expect.objectContaining({ code: value, details: expect.objectContaining(details) });

/** Runs one statement in a transaction of its own. */
export async function run(session: Session, sql: string, parameters?: SqlParameters): Promise<SqlResult> {
  session.execute(sql, parameters);
  return (await session.commit()).results[0]!;
}

export async function openApplication(
  options: Partial<InstanceOptions> = {},
): Promise<{ instance: Instance; session: Session }> {
  const instance = await openTestInstance(options);
  return { instance, session: await makeApplication(instance) };
}

async function makeApplication(instance: Instance): Promise<Session> {
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  await run(
    session,
    'CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE, stock INTEGER CHECK (stock >= 0))',
  );
  return session;
}

/** One application for all tests of a group, which must undo what they change. */
export function shareApplication(): {
  readonly instance: Instance;
  readonly session: Session;
  readonly dir: string;
} {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  let instance: Instance;
  let session: Session;
  beforeAll(async () => {
    instance = await openInstance({ dir, writerReservationMsMax: 10_000 });
    session = await makeApplication(instance);
  });
  afterAll(async () => {
    await instance.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    dir,
    get instance() {
      return instance;
    },
    get session() {
      return session;
    },
  };
}

/** All rows of a table, read by a session of their own. */
export async function rowsOf(instance: Instance, sql = 'SELECT * FROM item ORDER BY id') {
  const session = instance.openSession();
  try {
    return (await run(session, sql)).rows;
  } finally {
    await session.close();
  }
}
