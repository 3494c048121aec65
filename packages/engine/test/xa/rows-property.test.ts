/**
 * Money is moved between accounts, which are rows, and paid out as messages, within and between two instances, in transactions of one
 * instance and in distributed ones that are committed, rolled back or left in doubt over restarts. A model in memory predicts how each
 * call ends and the balance of each account. No money is ever lost or created.
 */
import { expect, it } from 'vitest';
import { type Instance, openInstance, type QueueError, type Session, type Xid } from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { drawnSeed, random } from '../random.ts';
import { rows, run } from './rows-support.ts';
import { takeAll, xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

const accountsPerBank = 4;
const startBalance = 50;

/** Changes of balances in their order, and cash that is paid out as a message. */
interface Work {
  changes: { account: number; amount: number }[];
  cash: number;
}

interface Bank {
  dir: string;
  instance: Instance;
  balances: number[];
  /** Accounts that a branch in doubt has locked. */
  locked: Set<number>;
  cash: number;
}

interface InDoubt {
  xid: Xid;
  work: Work;
  bank: Bank;
}

const openBank = (dir: string) => openInstance({ dir, sqlLockMsMax: 1 });

class Banks {
  readonly draw: () => number;
  readonly banks: Bank[] = [];
  /** Global transactions, each with its prepared branches. */
  readonly inDoubt: InDoubt[][] = [];
  readonly met = new Map<string, number>();
  transactions = 0;

  constructor(seed: number) {
    this.draw = random(seed);
  }

  async open(): Promise<void> {
    for (let bank = 0; bank < 2; bank += 1) {
      const dir = makeFolder();
      const instance = await openBank(dir);
      await instance.createQueue({ name: 'cash', attemptsMax: null });
      await run(
        instance,
        'CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER CHECK (balance >= 0))',
      );
      for (let id = 0; id < accountsPerBank; id += 1)
        await run(instance, ['INSERT INTO account VALUES (?, ?)', [id, startBalance]]);
      const balances = Array.from({ length: accountsPerBank }, () => startBalance);
      this.banks.push({ dir, instance, balances, locked: new Set(), cash: 0 });
    }
  }

  below(count: number): number {
    return Math.floor(this.draw() * count);
  }

  note(what: string): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1);
  }

  async step(): Promise<void> {
    const choice = this.below(100);
    const [one, two] = this.below(2) === 0 ? this.banks : this.banks.toReversed();
    if (choice < 40) await this.#local(one!);
    else if (choice < 75) await this.#distributed(one!, two!);
    else if (choice < 95) await this.#endOne();
    else await this.#reopen(one!);
    for (const bank of this.banks) await this.#compare(bank);
  }

  async #compare({ instance, balances }: Bank): Promise<void> {
    const found = await rows(instance, 'SELECT balance FROM account ORDER BY id');
    expect(found.map(({ balance }) => balance)).toEqual(balances);
  }

  #stage(session: Session, { changes, cash }: Work): void {
    for (const { account, amount } of changes)
      session.execute('UPDATE account SET balance = balance + ? WHERE id = ?', [amount, account]);
    if (cash > 0) session.enqueue('cash', { payload: String(cash) });
  }

  /** Predicts how the statements end: the first one that needs a locked row or violates the constraint decides. */
  #verdict({ balances, locked }: Bank, { changes }: Work): 'ok' | 'locked' | 'refused' {
    const after = [...balances];
    for (const { account, amount } of changes) {
      if (locked.has(account)) return 'locked';
      after[account]! += amount;
      if (after[account]! < 0) return 'refused';
    }
    return 'ok';
  }

  #apply(bank: Bank, { changes, cash }: Work): void {
    for (const { account, amount } of changes) bank.balances[account]! += amount;
    bank.cash += cash;
  }

  async #local(bank: Bank): Promise<void> {
    const amount = this.below(40) + 1;
    const [from, to] = [this.below(accountsPerBank), this.below(accountsPerBank)];
    const asCash = this.below(3) === 0;
    const taken = { account: from, amount: -amount };
    const work = asCash
      ? { changes: [taken], cash: amount }
      : { changes: [taken, { account: to, amount }], cash: 0 };
    const verdict = this.#verdict(bank, work);
    this.note(`local: ${verdict}`);
    const session = bank.instance.openSession();
    this.#stage(session, work);
    const ended = await session.commit().then(
      () => 'ok',
      (error: QueueError) => error.code,
    );
    await session.close();
    expect(ended).toBe({ ok: 'ok', locked: 'SQL_LOCK_TIMEOUT', refused: 'SQL_FAILED' }[verdict]);
    if (verdict === 'ok') this.#apply(bank, work);
  }

  async #distributed(from: Bank, to: Bank): Promise<void> {
    this.transactions += 1;
    const amount = this.below(40) + 1;
    const pays: Work = { changes: [{ account: this.below(accountsPerBank), amount: -amount }], cash: 0 };
    const gets: Work =
      this.below(3) === 0
        ? { changes: [], cash: amount }
        : { changes: [{ account: this.below(accountsPerBank), amount }], cash: 0 };
    const prepared: InDoubt[] = [];
    for (const [bank, work] of [
      [from, pays],
      [to, gets],
    ] as const) {
      const xid = xidOf(`t${this.transactions}`, bank === from ? 'from' : 'to');
      const verdict = this.#verdict(bank, work);
      this.note(`prepare: ${verdict}`);
      const ended = await this.#prepare(bank, xid, work);
      if (verdict === 'ok') expect(ended).toBe('ok');
      else if (verdict === 'refused') expect(ended).toBe('XA_RBINTEGRITY');
      else expect(['XA_RBTIMEOUT', 'XA_RBDEADLOCK']).toContain(ended);
      if (verdict !== 'ok') {
        await this.#end(prepared, false);
        return;
      }
      for (const { account } of work.changes) bank.locked.add(account);
      prepared.push({ xid, work, bank });
    }
    const what = this.below(3);
    if (what === 0) this.inDoubt.push(prepared);
    else await this.#end(prepared, what === 1);
  }

  async #prepare({ instance }: Bank, xid: Xid, work: Work): Promise<string> {
    const session = instance.openSession();
    await xaOf(session).start(xid);
    this.#stage(session, work);
    await xaOf(session).end(xid);
    const ended = await xaOf(session)
      .prepare(xid)
      .catch((error: unknown) => (error as QueueError).code);
    await session.close();
    return ended;
  }

  async #end(branches: readonly InDoubt[], commits: boolean): Promise<void> {
    this.note(commits ? 'commit' : 'rollback');
    for (const { xid, work, bank } of branches) {
      if (commits) await bank.instance.xa.commit(xid);
      else await bank.instance.xa.rollback(xid);
      for (const { account } of work.changes) bank.locked.delete(account);
      if (commits) this.#apply(bank, work);
    }
  }

  async #endOne(): Promise<void> {
    const [branches] = this.inDoubt.splice(this.below(this.inDoubt.length), 1);
    if (branches !== undefined) await this.#end(branches, this.below(3) > 0);
  }

  async #reopen(bank: Bank): Promise<void> {
    this.note(bank.locked.size > 0 ? 'reopen in doubt' : 'reopen');
    await bank.instance.close();
    bank.instance = await openBank(bank.dir);
  }

  async finish(): Promise<void> {
    while (this.inDoubt.length > 0) await this.#endOne();
    let money = 0;
    for (const bank of this.banks) {
      await this.#compare(bank);
      const cash = (await takeAll(bank.instance, 'cash')).map(Number);
      expect(cash.reduce((sum, amount) => sum + amount, 0)).toBe(bank.cash);
      money += bank.cash + bank.balances.reduce((sum, balance) => sum + balance, 0);
      await bank.instance.close();
    }
    expect(money).toBe(2 * accountsPerBank * startBalance);
  }
}

it('money is neither lost nor created, and every call ends as the model predicts', {
  timeout: 120_000,
}, async () => {
  const banks = new Banks(drawnSeed);
  await banks.open();
  for (let step = 0; step < 150; step += 1) await banks.step();
  await banks.finish();
  const cases = ['local: ok', 'local: locked', 'local: refused', 'prepare: ok', 'prepare: locked'];
  const met = [...banks.met.keys()];
  for (const expected of [...cases, 'prepare: refused', 'commit', 'rollback', 'reopen in doubt'])
    expect(met, `seed ${drawnSeed}`).toContain(expected);
});
