/** Waits for rows that a branch in doubt has locked, with time that the test advances. */
import { expect, it } from 'vitest';
import { QueueError } from '../../src/api/errors.ts';
import { limits } from '../../src/api/limits.ts';
import { RowLockWaits } from '../../src/commit/row-lock-waits.ts';
import { WaitRecorder } from '../../src/model/wait-recorder.ts';
import { transactionKey, xidKey } from '../../src/model/xid.ts';
import { ManualPorts } from '../support/manual-ports.ts';
import { xidOf } from './xid-of.ts';

const lockMsMax = 8_000;
const branch = xidKey(xidOf('m'));

function newWaits() {
  const ports = new ManualPorts();
  const { clock, timers } = ports;
  const waits = new WaitRecorder({ clock });
  const held = new Set([branch]);
  const locks = new RowLockWaits({ clock, timers, waits, lockMsMax, isHeld: (key) => held.has(key) });
  let attempts = 0;
  const attempt = async () => {
    attempts += 1;
    if (held.has(branch)) throw new QueueError('SQL_LOCKED', { details: { branch } });
    return 'done';
  };
  const release = () => {
    held.clear();
    locks.release(branch);
  };
  return { ports, waits, held, locks, attempt, release, attempts: () => attempts };
}

/** Watches a call: `ended` is its result or error code once it has ended. */
function endOf(call: Promise<string>): { ended: string | undefined } {
  const seen: { ended: string | undefined } = { ended: undefined };
  call.then(
    (result) => {
      seen.ended = result;
    },
    (error: QueueError) => {
      seen.ended = error.code;
    },
  );
  return seen;
}

it('a waiting transaction is repeated when the branch has ended, and its wait is recorded', async () => {
  const { ports, waits, locks, attempt, release, attempts } = newWaits();
  const end = endOf(locks.run(attempt, { time: undefined }));
  await ports.advance(500);
  expect([end.ended, attempts()]).toEqual([undefined, 1]);
  release();
  await ports.advance(1);
  expect([end.ended, attempts(), ports.pendingTimers]).toEqual(['done', 2, 0]);
  const event = waits.snapshot().find(({ event }) => event === 'enq: TX - row lock contention');
  expect(event).toMatchObject({ waits: 1, totalMs: 500, class: 'concurrency' });
});

it('samples show which branch has the rows, and which sessions wait', async () => {
  const { ports, waits, locks, attempt, release } = newWaits();
  const endSamples = waits.sampleHolders({ inMs: 0 });
  const end = endOf(locks.run(attempt, { time: waits.openSession(4) }));
  await ports.advance(limits.holderSampleMs + 1);
  release();
  await ports.advance(limits.holderSampleMs);
  expect(end.ended).toBe('done');
  expect(endSamples()[0]!.samples).toEqual([
    { holder: null, waiters: 0, waiting: [] },
    { holder: `branch ${branch}`, waiters: 1, waiting: [4] },
    { holder: null, waiters: 0, waiting: [] },
  ]);
});

it('a transaction does not wait for a branch that ended before its answer was read', async () => {
  const { ports, held, locks } = newWaits();
  let attempts = 0;
  const end = endOf(
    locks.run(
      async () => {
        attempts += 1;
        held.clear();
        if (attempts === 1) throw new QueueError('SQL_LOCKED', { details: { branch } });
        return 'done';
      },
      { time: undefined },
    ),
  );
  await ports.advance(0);
  expect([end.ended, attempts]).toEqual(['done', 2]);
});

it.each([
  ['a transaction of one instance', undefined, lockMsMax, 'SQL_LOCK_TIMEOUT'],
  ['a branch of a later transaction', 'n', lockMsMax, 'XA_RBTIMEOUT'],
  ['a branch of an earlier one, which may be waited for', 'a', limits.xaDeadlockMs, 'XA_RBDEADLOCK'],
  ['another branch of the same one', 'm', limits.xaDeadlockMs, 'XA_RBDEADLOCK'],
])('the wait of %s is bounded', async (_who, name, msMax, code) => {
  const { ports, locks, attempt } = newWaits();
  const waiter = name === undefined ? {} : { transaction: transactionKey(xidOf(name)) };
  const end = endOf(locks.run(attempt, { time: undefined, ...waiter }));
  await ports.advance(msMax - 1);
  expect(end.ended).toBeUndefined();
  await ports.advance(1);
  expect(end.ended).toBe(code);
});

it('the time limit of a wait covers all branches for which a transaction waits', async () => {
  const { ports, locks, held } = newWaits();
  const other = xidKey(xidOf('z'));
  held.add(other);
  const attempt = async (): Promise<string> => {
    throw new QueueError('SQL_LOCKED', { details: { branch: held.has(branch) ? branch : other } });
  };
  const end = endOf(locks.run(attempt, { time: undefined }));
  await ports.advance(lockMsMax - 10);
  held.delete(branch);
  locks.release(branch);
  await ports.advance(9);
  expect(end.ended).toBeUndefined();
  await ports.advance(1);
  expect(end.ended).toBe('SQL_LOCK_TIMEOUT');
});

it('a wait ends with the instance, and other failures do not make a transaction wait', async () => {
  const { ports, locks, attempt } = newWaits();
  const end = endOf(locks.run(attempt, { time: undefined }));
  const failed = endOf(locks.run(() => Promise.reject(new QueueError('SQL_FAILED')), { time: undefined }));
  await ports.advance(1);
  locks.close(new QueueError('INSTANCE_CLOSED'));
  await ports.advance(1);
  const late = endOf(locks.run(attempt, { time: undefined }));
  await ports.advance(1);
  expect([end.ended, failed.ended, late.ended]).toEqual(['INSTANCE_CLOSED', 'SQL_FAILED', 'INSTANCE_CLOSED']);
});
