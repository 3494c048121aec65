/**
 * Measures what a branch in doubt costs other sessions. The same number of sessions works on two instances in turn, 250 ms each. A
 * transaction enqueues or consumes a message and changes a row of a table; on one of the instances a prepared branch has locked other
 * rows of that table. Each pair of windows gives a ratio of rates, so that other work on the machine affects both alike. Prints the
 * median ratio before the branch is prepared, while it is in doubt, and after its commit, each with its quartiles, and the share of
 * their rate that sessions keep: the ratio while the branch is in doubt, divided by the mean of those before and after, so that a
 * slow drift of one instance does not count. Exits with 1 if the share is less than 0.9.
 *
 *     node packages/engine/bench/in-doubt.ts [--inDoubtMs 60000] [--besideMs 30000] [--sessions 8] [--rows 200] [--dataDir .]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Instance, openInstance, type Session } from '../src/index.ts';

const { values } = parseArgs({
  options: {
    inDoubtMs: { type: 'string', default: '60000' },
    besideMs: { type: 'string', default: '30000' },
    sessions: { type: 'string', default: '8' },
    rows: { type: 'string', default: '200' },
    dataDir: { type: 'string', default: '.' },
  },
});
const inDoubtMs = Number(values.inDoubtMs);
/** Time of the measurement before the branch, and of the one after it. */
const besideMs = Number(values.besideMs);
const rows = Number(values.rows);
const windowMs = 250;
/** Least share of the rate without a branch in doubt that the other sessions must keep. */
const keptMin = 0.9;
const accounts = 10_000;
const payload = 'x'.repeat(512);
const xid = { formatId: 1, gtrid: Buffer.from('in doubt'), bqual: Buffer.from('a') };

/** An instance with a table of accounts, and the sessions that work on it. */
class Bank {
  readonly instance: Instance;
  readonly #sessions: Session[];
  #transactions = 0;

  constructor(instance: Instance) {
    this.instance = instance;
    this.#sessions = Array.from({ length: Number(values.sessions) }, () => instance.openSession());
  }

  async fill(): Promise<void> {
    await this.instance.createQueue({ name: 'moved' });
    await this.instance.createQueue({ name: 'held' });
    const session = this.instance.openSession();
    session.execute('CREATE TABLE account (id INTEGER PRIMARY KEY, name TEXT UNIQUE, balance INTEGER)');
    await session.commit();
    for (let id = 0; id < accounts; id += 500) {
      for (let each = id; each < id + 500; each += 1)
        session.execute('INSERT INTO account VALUES (?, ?, 100)', [each, `account ${each}`]);
      await session.commit();
    }
    for (let row = 0; row < rows; row += 1) session.enqueue('held', { payload });
    await session.commit();
    await session.close();
  }

  /** Commits per second of all sessions. */
  async work(ms: number): Promise<number> {
    const startedAtMs = performance.now();
    const before = this.#transactions;
    const untilMs = startedAtMs + ms;
    await Promise.all(
      this.#sessions.map(async (session) => {
        while (performance.now() < untilMs) await this.#transact(session);
      }),
    );
    return ((this.#transactions - before) * 1_000) / (performance.now() - startedAtMs);
  }

  /** Changes a row, and enqueues a message or consumes one in turn, so that the file does not grow with the run. */
  async #transact(session: Session): Promise<void> {
    this.#transactions += 1;
    const id = rows + (this.#transactions % (accounts - rows));
    session.execute('UPDATE account SET balance = balance + 1 WHERE id = ?', [id]);
    if (this.#transactions % 2 === 0) session.enqueue('moved', { payload });
    else await session.dequeue('moved');
    await session.commit();
  }

  async prepareBranch(): Promise<void> {
    const session = this.instance.openSession();
    await session.xa!.start(xid);
    for (let held = 0; held < rows; )
      held += (await session.dequeue('held', { max: rows - held, waitMs: 10_000 })).length;
    session.execute('UPDATE account SET balance = balance - 1 WHERE id < ?', [rows]);
    await session.xa!.end(xid);
    await session.xa!.prepare(xid);
    await session.close();
  }
}

interface Pairs {
  ratio: number;
  quartiles: [number, number];
  perSec: [first: number, second: number];
  pairs: number;
}

/** Medians over pairs of windows, one on each instance; the instance that begins alternates. */
async function measure(first: Bank, second: Bank, ms: number): Promise<Pairs> {
  const found: { rates: [number, number]; ratio: number }[] = [];
  const startedAtMs = performance.now();
  while (performance.now() - startedAtMs < ms) {
    const begins = found.length % 2 === 0 ? first : second;
    const one = await begins.work(windowMs);
    const two = await (begins === first ? second : first).work(windowMs);
    const rates: [number, number] = begins === first ? [one, two] : [two, one];
    found.push({ rates, ratio: rates[0] / rates[1] });
  }
  const ratios = found.map(({ ratio }) => ratio);
  return {
    ratio: thousandths(quantile(ratios, 0.5)),
    quartiles: [thousandths(quantile(ratios, 0.25)), thousandths(quantile(ratios, 0.75))],
    perSec: [
      Math.round(
        quantile(
          found.map(({ rates }) => rates[0]),
          0.5,
        ),
      ),
      Math.round(
        quantile(
          found.map(({ rates }) => rates[1]),
          0.5,
        ),
      ),
    ],
    pairs: found.length,
  };
}

const thousandths = (value: number) => Math.round(value * 1_000) / 1_000;

function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)]!;
}

const dir = mkdtempSync(join(values.dataDir, '.bench-in-doubt-'));
const banks = [
  new Bank(await openInstance({ dir: join(dir, 'a') })),
  new Bank(await openInstance({ dir: join(dir, 'b') })),
] as const;
try {
  for (const bank of banks) await bank.fill();
  await measure(...banks, 3_000); // warm-up, in which code is compiled
  const before = await measure(...banks, besideMs);
  await banks[0].prepareBranch();
  const inDoubt = await measure(...banks, inDoubtMs);
  await banks[0].instance.xa.commit(xid);
  const after = await measure(...banks, besideMs);
  const kept = thousandths(inDoubt.ratio / Math.sqrt(before.ratio * after.ratio));
  console.log(
    JSON.stringify({ sessions: Number(values.sessions), rows, inDoubtMs, before, inDoubt, after, kept }),
  );
  if (kept < keptMin) {
    console.error(
      `While the branch is in doubt, the others keep ${kept} of their rate: less than ${keptMin}`,
    );
    process.exitCode = 1;
  }
} finally {
  for (const { instance } of banks) await instance.close();
  rmSync(dir, { recursive: true, force: true });
}
