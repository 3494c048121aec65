/** Instances with tables of the application, and branches that change rows. */
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
  type Xid,
} from '../../src/index.ts';
import { openTestInstance } from '../folder.ts';
import { xaOf } from './support.ts';

export type Statement = string | readonly [sql: string, parameters: SqlParameters];

export async function openWithTables(
  tables: readonly string[],
  options: Partial<InstanceOptions> = {},
): Promise<Instance> {
  const instance = await openTestInstance(options);
  await instance.createQueue({ name: 'orders' });
  await instance.createQueue({ name: 'shipments' });
  await run(instance, ...tables);
  return instance;
}

/** Commits statements in a transaction of its own. */
export async function run(instance: Pick<Instance, 'openSession'>, ...statements: readonly Statement[]) {
  const session = instance.openSession();
  try {
    stage(session, statements);
    return (await session.commit()).results;
  } finally {
    await session.close();
  }
}

export function stage(session: Session, statements: readonly Statement[]): void {
  for (const statement of statements) {
    if (typeof statement === 'string') session.execute(statement);
    else session.execute(...statement);
  }
}

export async function rows(instance: Pick<Instance, 'openSession'>, sql: string) {
  return (await run(instance, sql))[0]!.rows;
}

/** Opens a session and ends a branch with the statements. Resolves with the session. */
export async function branchWith(
  instance: Pick<Instance, 'openSession'>,
  xid: Xid,
  ...statements: readonly Statement[]
): Promise<Session> {
  const session = instance.openSession();
  await xaOf(session).start(xid);
  stage(session, statements);
  await xaOf(session).end(xid);
  return session;
}

/** Prepares a branch that changes rows. Resolves with the session. */
export async function prepared(
  instance: Pick<Instance, 'openSession'>,
  xid: Xid,
  ...statements: readonly Statement[]
): Promise<Session> {
  const session = await branchWith(instance, xid, ...statements);
  expect(await xaOf(session).prepare(xid)).toBe('ok');
  return session;
}

/** Whether a call is still unanswered after a few other transactions of the instance have committed. */
export async function isWaiting(instance: Instance, call: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = () => {
    settled = true;
  };
  call.then(note, note);
  for (let commits = 0; commits < 3; commits += 1) {
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'beside' });
    await session.commit();
    await session.close();
  }
  return !settled;
}

/** One instance for all tests of a group, which must end their branches. */
export function shareInstance(options: Partial<InstanceOptions> = {}): { readonly current: Instance } {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  let instance: Instance;
  beforeAll(async () => {
    instance = await openInstance({ dir, ...options });
    await instance.createQueue({ name: 'orders' });
  });
  afterAll(async () => {
    await instance.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    get current() {
      return instance;
    },
  };
}
