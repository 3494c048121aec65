/** The elected writer is killed by SIGKILL again and again under the load of several processes, and each time another is elected. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nodePorts } from '../../src/node-ports.ts';
import { UnshardedFile } from '../../src/storage/unsharded/unsharded-file.ts';
import { makeFolder } from '../folder.ts';

const queueId = 1;
const processes = 3;
const kills = 5;
/** How many groups a new writer must write, and how many messages it must acknowledge, before it is killed. */
const groupsBetweenKills = 30;

class Worker {
  readonly child: ChildProcess;
  readonly notesPath: string;

  constructor(dir: string, number: number) {
    this.notesPath = join(dir, `notes-${number}`);
    this.child = fork(new URL('./writer-process.ts', import.meta.url), [dir, this.notesPath]);
    onTestFinished(() => void this.child.kill('SIGKILL'));
  }

  /** Complete lines only, since the last line of a killed process may be cut off. */
  notes(): string[][] {
    if (!existsSync(this.notesPath)) return [];
    return readFileSync(this.notesPath, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split(' '));
  }

  of(kind: string): string[] {
    return this.notes()
      .filter(([first]) => first === kind)
      .map(([, ...rest]) => rest.join(' '));
  }

  async end(how: 'kill' | 'stop'): Promise<void> {
    const ended = once(this.child, 'exit');
    if (how === 'kill') this.child.kill('SIGKILL');
    else this.child.send('stop');
    expect((await ended)[how === 'kill' ? 1 : 0]).toBe(how === 'kill' ? 'SIGKILL' : 0);
  }
}

/** Resolves with the process that has written enough groups since the call. */
async function nextWriter(live: readonly Worker[]): Promise<Worker> {
  const before = new Map(live.map((worker) => [worker, worker.of('W').length]));
  let writer: Worker | undefined;
  await expect
    .poll(
      () => {
        writer = live.find((worker) => worker.of('W').length >= before.get(worker)! + groupsBetweenKills);
        return writer !== undefined;
      },
      { timeout: 30_000, interval: 20 },
    )
    .toBe(true);
  return writer!;
}

describe('grouped writes of several processes', () => {
  it(`lose and duplicate nothing while the writer is killed ${kills} times, and have one writer at a time`, {
    timeout: 120_000,
  }, async () => {
    const dir = makeFolder();
    const workers: Worker[] = [];
    const start = async () => {
      const worker = new Worker(dir, workers.length);
      workers.push(worker);
      await once(worker.child, 'message');
      return worker;
    };
    let live: Worker[] = [];
    for (let i = 0; i < processes; i += 1) live.push(await start());
    for (let kill = 0; kill < kills; kill += 1) {
      const writer = await nextWriter(live);
      await writer.end('kill');
      live = [...live.filter((worker) => worker !== writer), await start()];
    }
    await nextWriter(live);
    for (const worker of live) await worker.end('stop');

    expect(workers.flatMap((worker) => worker.of('X'))).toEqual([]);
    expectOneWriterAtATime(workers);
    const stored = workers.flatMap((worker) => worker.of('E'));
    const taken = new Set(workers.flatMap((worker) => worker.of('T')));
    const consumed = workers.flatMap((worker) => worker.of('C'));
    const left = readAll(dir);
    expect(stored.length).toBeGreaterThan(kills * groupsBetweenKills);
    expect(consumed.length).toBeGreaterThan(kills);
    expect(new Set(consumed).size, 'consumed twice').toBe(consumed.length);
    expect(new Set(left).size, 'stored twice').toBe(left.length);
    const consumedPayloads = new Set(consumed);
    expect(
      left.filter((payload) => consumedPayloads.has(payload)),
      'stored after it was consumed',
    ).toEqual([]);
    const leftPayloads = new Set(left);
    const lost = stored.filter(
      (payload) => !leftPayloads.has(payload) && !consumedPayloads.has(payload) && !taken.has(payload),
    );
    expect(lost, 'acknowledged and lost').toEqual([]);
  });
});

/** Expects each process to be the writer during one period only, and no group to overlap one of another process. */
function expectOneWriterAtATime(workers: readonly Worker[]): void {
  const groups = workers
    .flatMap((worker) => worker.of('W').map((times) => [worker, ...times.split(' ').map(Number)] as const))
    .sort((a, b) => a[1]! - b[1]!);
  const writers = groups.map(([worker]) => worker);
  const changes = writers.filter((worker, index) => worker !== writers[index - 1]);
  expect(new Set(changes).size).toBe(changes.length);
  expect(changes.length).toBeGreaterThan(kills);
  for (const [index, [, from]] of groups.entries())
    if (index > 0) expect(from).toBeGreaterThanOrEqual(groups[index - 1]![2]!);
}

/** Payloads of all messages that can be dequeued. */
function readAll(dir: string): string[] {
  const file = new UnshardedFile(dir, {
    queues: () => [{ queueId, name: 'q' }],
    queueById: () => ({ queueId, name: 'q' }),
    onFailed: (error) => {
      throw error;
    },
    ports: nodePorts,
  });
  try {
    const { ready, held } = file.counts(queueId);
    expect(held, 'held by nobody').toBe(0);
    const rows = file.claim({ queueId, subscriber: 0 }, { max: ready + 1 });
    expect(rows).toHaveLength(ready);
    return rows.map(({ record }) => String(record));
  } finally {
    file.close();
  }
}
