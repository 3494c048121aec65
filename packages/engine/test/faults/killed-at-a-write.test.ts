/**
 * A process is killed right before one of its writes, syncs or truncations of an instance's files: at its first opening, inside
 * commits, partition truncations and checkpoints, and then while it recovers from that kill.
 */
import { expect, it } from 'vitest';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { drawnSeed, isTorture } from '../random.ts';
import { killedAtCall, noFailingDisk } from './failing-disk.ts';
import type { FaultProcess } from './fault-process.ts';

/** The messages that must be stored, and the one step that was not acknowledged. */
interface Ledger {
  stored: string[];
  inDoubt: { puts: string[]; takes: string[] };
}

const partitionMessagesMax = 4;
/** One write in so many is tried, so that a test takes seconds. The seed chooses the first one. */
const stride = isTorture ? 17 : 61;

/** Lets the process enqueue and dequeue, and records that in the ledger. Returns whether the process was killed. */
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
      ledger.stored.push(...puts);
      ledger.inDoubt = { puts: [], takes: ledger.stored.slice(0, 2) };
      expect(await worker.take('q', 2)).toEqual(ledger.inDoubt.takes);
      ledger.stored.splice(0, 2);
      ledger.inDoubt = { puts: [], takes: [] };
    }
    await worker.close();
    return false;
  } catch (error) {
    if (String(error).includes('SIGKILL')) return true;
    throw error;
  }
}

/** Expects the folder to hold what was acknowledged, with the step in doubt done as a whole or not at all. */
async function readAndCompare(dir: string, { stored, inDoubt }: Ledger): Promise<string[]> {
  const instance = await openTestInstance({ dir, partitionMessagesMax });
  const found: string[] = [];
  if (instance.queues().length > 0) {
    const session = instance.openSession();
    while (instance.queue('q').ready > 0) found.push(...text(await session.dequeue('q', { max: 99 })));
  }
  await instance.close();
  const done = [...stored.filter((payload) => !inDoubt.takes.includes(payload)), ...inDoubt.puts];
  expect([stored, done]).toContainEqual(found);
  return found;
}

it.skipIf(noFailingDisk)(
  `killed at a write, and again in recovery, a process loses nothing acknowledged (${noFailingDisk ?? `one write in ${stride} is tried`})`,
  { timeout: 300_000 },
  async () => {
    const first = 1 + (drawnSeed % stride);
    console.info(`killed at a write: from call ${first} on`);
    let kills = 0;
    let recoveries = 0;
    for (let call = first; ; call += stride) {
      const dir = makeFolder();
      const ledger: Ledger = { stored: [], inDoubt: { puts: [], takes: [] } };
      if (!(await work(killedAtCall(call), dir, ledger, 'x'))) break;
      kills += 1;
      // A second process is killed at one of its first calls while it opens the files that the first one left.
      const again = killedAtCall(1 + (kills % 7));
      const opened = await again.open({ dir, partitionMessagesMax }).then(
        () => true,
        () => false,
      );
      if (!opened) recoveries += 1;
      await again.kill();
      ledger.stored = await readAndCompare(dir, ledger);
      await readAndCompare(dir, { ...ledger, inDoubt: { puts: [], takes: [] } });
    }
    expect(kills).toBeGreaterThan(3);
    expect(recoveries).toBeGreaterThan(0);
  },
);
