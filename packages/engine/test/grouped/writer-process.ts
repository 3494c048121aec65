/**
 * A process that enqueues and consumes without a pause through grouped writes. It appends lines to a file, which survives a kill: `E`
 * for a message whose enqueue was acknowledged, `T` for one that it is about to consume, `C` for one whose consumption was acknowledged,
 * `W` for a group that it wrote, with start and end in milliseconds of the machine's clock, and `X` for an error.
 */
import { openSync, writeSync } from 'node:fs';
import { WaitRecorder } from '../../src/model/wait-recorder.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { GroupedWrites } from '../../src/unsharded/grouped-writes.ts';
import { LazyUnshardedFile } from '../../src/unsharded/lazy-unsharded-file.ts';
import type { SharedFileLock } from '../../src/unsharded/shared-file-lock.ts';
import { WriteLock } from '../../src/unsharded/write-lock.ts';

const [dir, notesPath] = process.argv.slice(2) as [string, string];
const queueId = 1;
const backlogMax = 200;
const notes = openSync(notesPath, 'a');
const note = (...words: (string | number)[]) => writeSync(notes, `${words.join(' ')}\n`);

const writeLock = new WriteLock({ dir, ports: nodePorts, onWaited: () => undefined });
const lock: SharedFileLock = {
  run: (kind, work) =>
    writeLock.run(kind, () => {
      const from = nodePorts.machineClock.nowMs();
      try {
        return work();
      } finally {
        if (writes.isWriter) note('W', from, nodePorts.machineClock.nowMs());
      }
    }),
  close: () => writeLock.close(),
};
const file = new LazyUnshardedFile(
  dir,
  {
    queues: () => [{ queueId, name: 'q' }],
    queueById: () => ({ queueId, name: 'q' }),
    onFailed: (error) => void note('X', error.message),
    ports: nodePorts,
  },
  () => undefined,
);
let onReady: (() => void)[] = [];
const wakeAll = () => {
  for (const wake of onReady.splice(0)) wake();
};
const writes: GroupedWrites = new GroupedWrites({
  dir,
  file,
  lock,
  ports: nodePorts,
  waits: new WaitRecorder({ clock: nodePorts.clock }),
  onReady: wakeAll,
});
let stopped = false;

async function enqueue(name: string): Promise<void> {
  for (let number = 0; !stopped; number += 1) {
    const payload = `${process.pid}.${name}.${number}`;
    const enqueued = [{ queueId, record: Buffer.from(payload) }];
    await writes.commit({ enqueued, consumed: [], sync: 'FULL' });
    note('E', payload);
    while (!stopped && file.opened.counts(queueId).ready > backlogMax)
      await new Promise((resume) => setImmediate(resume));
  }
}

async function consume(): Promise<void> {
  while (!stopped) {
    const rows = await writes.claim({ queueId, subscriber: 0 }, { max: 5 });
    if (rows.length === 0) {
      if (stopped) return; // The stop came while a claim was under way.
      await new Promise<void>((wake) => onReady.push(wake));
      continue;
    }
    for (const { record } of rows) note('T', String(record));
    const consumed = rows.map(({ id, crc }) => ({ queueId, id, crc }));
    await writes.commit({ enqueued: [], consumed, sync: 'FULL' });
    for (const { record } of rows) note('C', String(record));
  }
}

await writes.open();
const deadHolds = setInterval(() => void writes.releaseHeldByDeadProcesses().catch(() => undefined), 50);
const work = Promise.all([enqueue('a'), enqueue('b'), consume(), consume()]).catch((error: unknown) =>
  note('X', String(error)),
);
process.once('message', async () => {
  stopped = true;
  wakeAll();
  await work;
  clearInterval(deadHolds);
  onReady = [];
  await writes.close([]);
  process.disconnect!();
});
process.send!('ready');
