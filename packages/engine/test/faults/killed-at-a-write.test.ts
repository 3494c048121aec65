/**
 * A process is killed right before one of its writes, syncs or truncations of an instance's files: at its first opening, inside
 * commits, truncations and checkpoints, and then while it recovers from just that.
 */
import { expect, it } from 'vitest';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { drawnSeed, isTorture } from '../random.ts';
import { killedAtCall, noFailingDisk } from './failing-disk.ts';
import type { FaultProcess } from './fault-process.ts';

/** What was acknowledged, and the one step that was not. */
interface Ledger {
  there: string[];
  inDoubt: { puts: string[]; takes: string[] };
}

const partitionMessagesMax = 4;
/** Only a sample of the writes, so that a test takes seconds; another seed starts at another write. */
const stride = isTorture ? 17 : 61;

/** Puts and takes until it is killed, or done; records it in the ledger. Returns whether it was killed. */
async function work(worker: FaultProcess, dir: string, ledger: Ledger, name: string): Promise<boolean> {
  ledger.inDoubt = { puts: [], takes: [] };
  try {
    await worker.open({ dir, partitionMessagesMax });
    await worker.create({ name: 'q' }).catch((error: unknown) => {
      if ((error as { code?: string }).code !== 'QUEUE_EXISTS') throw error;
    });
    for (let step = 0; step < 6; step += 1) {
      const puts = [`${name}.${step}a`, `${name}.${step}b`, `${name}.${step}c`];
      ledger.inDoubt = { puts, takes: [] };
      await worker.put('q', ...puts);
      ledger.there.push(...puts);
      ledger.inDoubt = { puts: [], takes: ledger.there.slice(0, 2) };
      expect(await worker.take('q', 2)).toEqual(ledger.inDoubt.takes);
      ledger.there.splice(0, 2);
      ledger.inDoubt = { puts: [], takes: [] };
    }
    await worker.close();
    return false;
  } catch (error) {
    if (String(error).includes('SIGKILL')) return true;
    throw error;
  }
}

/** What the folder holds must be what was acknowledged, with the step in doubt done or not done as a whole. */
async function readAndCompare(dir: string, { there, inDoubt }: Ledger): Promise<string[]> {
  const instance = await openTestInstance({ dir, partitionMessagesMax });
  const found: string[] = [];
  if (instance.queues().length > 0) {
    const session = instance.openSession();
    while (instance.queue('q').ready > 0) found.push(...text(await session.dequeue('q', { max: 99 })));
  }
  await instance.close();
  const done = [...there.filter((payload) => !inDoubt.takes.includes(payload)), ...inDoubt.puts];
  expect([there, done]).toContainEqual(found);
  return found;
}

it.skipIf(noFailingDisk)(
  `at each of its writes a process may die (${noFailingDisk ?? `one in ${stride} is tried`}), and so may the one that recovers`,
  { timeout: 300_000 },
  async () => {
    const first = 1 + (drawnSeed % stride);
    console.info(`killed at a write: from call ${first} on`);
    let kills = 0;
    let recoveries = 0;
    for (let call = first; ; call += stride) {
      const dir = makeFolder();
      const ledger: Ledger = { there: [], inDoubt: { puts: [], takes: [] } };
      if (!(await work(killedAtCall(call), dir, ledger, 'x'))) break;
      kills += 1;
      // The same files, as they were left: killed once more while it opens them, at one of the first calls.
      const again = killedAtCall(1 + (kills % 7));
      const opened = await again.open({ dir, partitionMessagesMax }).then(
        () => true,
        () => false,
      );
      if (!opened) recoveries += 1;
      await again.kill();
      ledger.there = await readAndCompare(dir, ledger);
      await readAndCompare(dir, { ...ledger, inDoubt: { puts: [], takes: [] } });
    }
    expect(kills).toBeGreaterThan(3);
    expect(recoveries).toBeGreaterThan(0);
  },
);
