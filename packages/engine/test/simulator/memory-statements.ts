/** The application's statements on a file in memory: one kind of statement, and the rows that prepared branches have locked. */
import type { SqlOutcome, SqlTransaction } from '../../src/model/group-message.ts';
import type { PreparedBranchRow } from '../../src/model/xa-rows.ts';
import { xidKey } from '../../src/model/xid.ts';
import { expectThat } from './simulation-failure.ts';

/** The only statement. It adds the first parameter to the balance of the account that the second one names. */
export const addToBalance = 'UPDATE account SET balance = balance + ? WHERE id = ?';

export interface ApplicationTables {
  readonly preparedBranches: Map<string, PreparedBranchRow>;
  /** Balances by account. */
  readonly balances: Map<number, number>;
}

/** The rows that a prepared branch changes, as stored in the file in memory. */
type StoredRows = [account: number, balance: number][];

export function runStatements(
  { statements, branch }: Pick<SqlTransaction, 'statements' | 'branch'>,
  { balances, preparedBranches }: ApplicationTables,
): SqlOutcome {
  if (branch?.kind === 'commit') {
    const { rows } = preparedBranches.get(xidKey(branch.key))!;
    for (const [account, balance] of JSON.parse(rows) as StoredRows) balances.set(account, balance);
    return { results: [], failure: null };
  }
  const changed = new Map<number, number>();
  for (const { sql, parameters } of statements) {
    expectThat(sql === addToBalance, () => `the file in memory cannot run "${sql}"`);
    const [amount, account] = parameters as [number, number];
    const holder = holderOf(account, preparedBranches);
    if (holder !== undefined) {
      const details = { branch: holder };
      return { results: [], failure: { code: 'SQL_LOCKED', message: 'locked', details, fatal: false } };
    }
    changed.set(account, (changed.get(account) ?? balances.get(account) ?? 0) + amount);
  }
  if (branch === undefined) for (const [account, balance] of changed) balances.set(account, balance);
  else preparedBranches.set(xidKey(branch.row), { ...branch.row, rows: JSON.stringify([...changed]) });
  const result = { rows: [], changes: 1, lastInsertRowid: null };
  return { results: statements.map(() => result), failure: null };
}

function holderOf(account: number, branches: ReadonlyMap<string, PreparedBranchRow>): string | undefined {
  for (const [key, { rows }] of branches) {
    if (rows !== '' && (JSON.parse(rows) as StoredRows).some(([locked]) => locked === account)) return key;
  }
  return undefined;
}
