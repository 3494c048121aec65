/**
 * Full disks: a real small file system if the machine lets a test mount one (as root, or with user namespaces), a real limit on the
 * size of files, and a disk that reports to be full (`failing-disk.c`).
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { FailingDisk, noFailingDisk } from './failing-disk.ts';
import { FaultProcess } from './fault-process.ts';

const full = { code: 'STORAGE_FULL', retryable: true };
const payload = 'x'.repeat(40_000);

/** A command prefix that mounts a file system in memory of so many MiB at `dir` for the command that follows. */
const onSmallDisk = (dir: string, mib: number) => [
  'unshare',
  '--mount',
  '--map-root-user',
  'sh',
  '-c',
  'mount -t tmpfs -o size="$1"m small "$2" && shift 2 && exec "$@"',
  'sh',
  String(mib),
  dir,
];

function whyNoSmallDisk(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  const [command = '', ...args] = [...onSmallDisk('/mnt', 1), 'true'];
  return spawnSync(command, args).status === 0 ? undefined : 'needs the right to mount a file system';
}
const noSmallDisk = whyNoSmallDisk();

/** Enqueues until it is refused; returns the number of acknowledged messages and the error. */
async function fill(worker: FaultProcess, queue: string) {
  for (let puts = 0; puts < 2_000; puts += 1) {
    try {
      await worker.put(queue, `${puts};${payload}`);
    } catch (error) {
      return { puts, error };
    }
  }
  throw new Error('The disk never filled up');
}

describe.skipIf(noSmallDisk)(`a file system of 80 MiB (${noSmallDisk ?? 'mounted for the test'})`, () => {
  it('refuses commits when it is full, keeps all that was acknowledged, and accepts more when there is space', async () => {
    const dir = makeFolder();
    const worker = new FaultProcess({ through: onSmallDisk(dir, 80) });
    await worker.open({ dir, partitionMessagesMax: 20 });
    await worker.create({ name: 'q' });
    const ballast = join(dir, 'ballast');
    await worker.writeFile(ballast, 48 * 1024 * 1024);
    const { puts, error } = await fill(worker, 'q');
    expect(error).toMatchObject(full);
    expect(puts).toBeGreaterThan(20);
    expect(await worker.refused({ do: 'put', queue: 'q', payloads: [payload] })).toMatchObject(full);
    expect(await worker.info('q')).toMatchObject({ enqueued: puts, ready: puts });
    await worker.removeFile(ballast);
    for (let taken = 0; taken < puts; ) {
      const payloads = await worker.take('q', 10);
      for (const each of payloads) expect(each.startsWith(`${taken++};`)).toBe(true);
    }
    await worker.put('q', 'there is room again');
    expect(await worker.take('q', 1)).toEqual(['there is room again']);
    await worker.close();
    await worker.open({ dir });
    // Gaps of refused commits count as consumed messages after their partition was truncated, which nothing then records.
    const { enqueued, consumed, ready } = await worker.info('q');
    expect(ready).toBe(0);
    expect(consumed).toBe(enqueued);
    expect(enqueued).toBeGreaterThanOrEqual(puts + 1);
  });
});

describe.skipIf(noFailingDisk)(`a disk that is full (${noFailingDisk ?? 'for one file'})`, () => {
  it.each(['unsharded', 'unsharded-grouped'] as const)(
    'stops the queues of its file, %s ones too, and no others; all continue when there is space',
    async (kind) => {
      const dir = makeFolder();
      const disk = new FailingDisk();
      const { process: worker } = disk;
      await worker.open({ dir });
      await worker.create({ name: 'sharded' });
      await worker.create({ name: 'jobs', kind });
      await worker.put('sharded', 'a');
      await worker.put('jobs', 'a');
      disk.fail('space', 'instance-1.redo-0');
      expect(await worker.refused({ do: 'put', queue: 'sharded', payloads: ['lost'] })).toMatchObject(full);
      expect(await worker.refused({ do: 'take', queue: 'sharded', max: 1 })).toMatchObject(full);
      await worker.put('jobs', 'b');
      disk.fail('space', 'unsharded.db-wal');
      expect(await worker.refused({ do: 'put', queue: 'jobs', payloads: ['lost'] })).toMatchObject(full);
      await worker.put('sharded', 'b');
      disk.heal();
      await worker.put('jobs', 'c');
      expect(await worker.take('sharded', 9)).toEqual(['a', 'b']);
      expect(await worker.take('jobs', 9)).toEqual(['a', 'b', 'c']);
      await worker.close();
      const instance = await openTestInstance({ dir });
      expect(instance.queue('sharded')).toMatchObject({ enqueued: 2, consumed: 2 });
      expect(instance.queue('jobs')).toMatchObject({ enqueued: 3, consumed: 3 });
    },
  );

  it('keeps an instance from opening, without any loss of messages', async () => {
    const dir = makeFolder();
    const first = await openTestInstance({ dir });
    await first.createQueue({ name: 'q' });
    const session = first.openSession();
    session.enqueue('q', { payload: 'a' });
    await session.commit();
    await first.close();
    const disk = new FailingDisk();
    disk.fail('space', 'instance-1.db-wal');
    const error = await disk.process.refused({ do: 'open', options: { dir } });
    expect(error).toMatchObject(full);
    disk.heal();
    await disk.process.open({ dir });
    expect(await disk.process.take('q', 1)).toEqual(['a']);
  });
});

describe.skipIf(process.platform === 'win32')('a limit on the size of files', () => {
  it('ends the instance when a write is cut short; reopened without the limit, no message is missing', async () => {
    const dir = makeFolder();
    mkdirSync(join(dir, 'data'));
    // SIGXFSZ is ignored so that the write fails with an error. The limit is in blocks of 512 bytes.
    const limited = ['sh', '-c', 'trap "" XFSZ; ulimit -f 8000; exec "$@"', 'sh'];
    const worker = new FaultProcess({ through: limited });
    await worker.open({ dir: join(dir, 'data') });
    await worker.create({ name: 'q' });
    const { puts, error } = await fill(worker, 'q');
    expect(error).toMatchObject({ code: 'INSTANCE_FAILED', details: { cause: 'STORAGE_FAILED' } });
    expect(await worker.refused({ do: 'take', queue: 'q', max: 1 })).toMatchObject({
      code: 'INSTANCE_FAILED',
    });
    await worker.kill();
    const instance = await openTestInstance({ dir: join(dir, 'data') });
    const found: string[] = [];
    for (const session = instance.openSession(); ; ) {
      const messages = text(await session.dequeue('q', { max: 100 }));
      if (messages.length === 0) break;
      found.push(...messages.map((each) => each.slice(0, each.indexOf(';'))));
    }
    const acknowledged = Array.from({ length: puts }, (_, index) => `${index}`);
    expect(found.slice(0, puts)).toEqual(acknowledged);
    expect(found.length - puts, 'the one that was in doubt').toBeLessThanOrEqual(1);
  });
});
