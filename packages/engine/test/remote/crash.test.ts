/**
 * The process that serves an instance is killed by SIGKILL at random moments under many remote sessions, and started again. The
 * sessions continue, and learn of each of their commits whether it was done.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CommitOutcomes } from '../../src/commit/commit-outcomes.ts';
import { connect, QueueError, type QueueKind, type RemoteInstance, type Session } from '../../src/index.ts';
import { messageIdsOf } from '../../src/model/id-runs.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { readSessionOutcomes } from '../../src/storage/instance-file/tables/session-outcome-table.ts';
import { UnshardedOutcomeTable } from '../../src/storage/unsharded/unsharded-outcome-table.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { drawnSeed, isTorture, random } from '../random.ts';

const operations = 7;
const backlogMax = 1_000;

/** The commits of all clients, and how they ended. */
class Ledger {
  readonly committed = new Map<string, string>(); // payload → id
  readonly refused = new Set<string>();
  readonly consumed = new Map<string, string>();
  /** The ids of each session's last successful commit. */
  readonly lastIds = new Map<string, readonly string[]>();
  readonly faults: unknown[] = [];
  commitsLost = 0;

  get backlog(): number {
    return this.committed.size - this.consumed.size;
  }

  /** Commits and records how that ended; resolves with true if it was done. */
  async commit(session: Session, onDone: (ids: string[]) => void, onRefused: () => void): Promise<boolean> {
    try {
      const { ids } = await session.commit();
      this.lastIds.set(session.id, ids);
      onDone(ids);
      return true;
    } catch (error) {
      onRefused();
      this.commitsLost += 1;
      if (!isOf(error, 'TX_NOT_COMMITTED')) this.faults.push(error);
      return false;
    }
  }
}

const isOf = (error: unknown, ...codes: string[]) =>
  error instanceof QueueError && codes.includes(error.code);

async function enqueueForever(
  session: Session,
  name: string,
  ledger: Ledger,
  signal: AbortSignal,
): Promise<void> {
  for (let next = 0; !signal.aborted; next += operations) {
    while (ledger.backlog > backlogMax && !signal.aborted) await pause(1);
    const payloads = Array.from({ length: operations }, (_, index) => `${name}.${next + index}`);
    for (const payload of payloads) session.enqueue('q', { payload });
    await ledger.commit(
      session,
      (ids) => {
        for (const [index, payload] of payloads.entries()) ledger.committed.set(payload, ids[index]!);
      },
      () => {
        for (const payload of payloads) ledger.refused.add(payload);
      },
    );
  }
}

async function dequeueForever(session: Session, ledger: Ledger, signal: AbortSignal): Promise<void> {
  for (let turn = 0; !signal.aborted; turn += 1) {
    try {
      const messages = await session.dequeue('q', { max: operations, waitMs: 60_000, signal });
      if (turn % 5 === 0) {
        await session.rollback();
        continue;
      }
      const taken = messages.map((message) => [message.payload.toString(), message.id] as const);
      await ledger.commit(
        session,
        () => {
          for (const [payload, id] of taken) {
            if (ledger.consumed.has(payload)) ledger.faults.push(`${payload} was consumed twice`);
            ledger.consumed.set(payload, id);
          }
        },
        () => undefined,
      );
    } catch (error) {
      if (!isOf(error, 'INSTANCE_UNREACHABLE', 'TX_NOT_COMMITTED')) ledger.faults.push(error);
    }
  }
}

function forkHost(dir: string, kind: QueueKind): ChildProcess {
  const host = fork(new URL('./host.ts', import.meta.url), [dir, kind], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  onTestFinished(() => {
    host.kill('SIGKILL');
  });
  return host;
}

/** Starts the process; resolves once it serves. */
async function startHost(dir: string, kind: QueueKind): Promise<ChildProcess> {
  const host = forkHost(dir, kind);
  await Promise.race([once(host, 'message'), once(host, 'exit')]);
  expect(host.exitCode).toBeNull();
  return host;
}

async function kill(host: ChildProcess): Promise<void> {
  const ended = once(host, 'exit');
  host.kill('SIGKILL');
  expect((await ended)[1]).toBe('SIGKILL');
}

/** By session, the ids of its last commit according to the file. */
function readOutcomes(dir: string, kind: QueueKind): Map<string, string[]> {
  const name = kind === 'sharded' ? 'instance-1.db' : 'unsharded.db';
  const file = new Database(join(dir, name), { readonly: true });
  const outcomes = new CommitOutcomes(nodePorts.clock);
  try {
    if (kind === 'sharded') outcomes.loadRows(readSessionOutcomes(file));
    else outcomes.loadUnsharded(new UnshardedOutcomeTable(file).read(1));
  } finally {
    file.close();
  }
  return new Map(
    outcomes.all().map(({ sessionId, idRuns }) => [sessionId.toString('hex'), messageIdsOf(idRuns)]),
  );
}

/** Live messages of the queue: payload → id. */
async function readQueue(dir: string): Promise<Map<string, string>> {
  const instance = await openTestInstance({ dir });
  const { ready } = instance.queue('q');
  const session = instance.openSession();
  const found = new Map<string, string>();
  for (let count = 0; count < ready; ) {
    const messages = await session.dequeue('q', { max: 1_000, waitMs: 10_000 });
    if (messages.length === 0) break;
    count += messages.length;
    for (const message of messages) found.set(message.payload.toString(), message.id);
  }
  expect(found.size).toBe(ready);
  await instance.close();
  return found;
}

function check(ledger: Ledger, live: Map<string, string>): void {
  expect(ledger.faults).toEqual([]);
  const everywhere = new Map([...ledger.consumed, ...live]);
  expect(everywhere.size, 'both consumed and stored').toBe(ledger.consumed.size + live.size);
  expect(
    [...everywhere.keys()].filter((payload) => ledger.refused.has(payload)),
    'stored, although its commit was reported as not done',
  ).toEqual([]);
  expect(
    [...ledger.committed].filter(([payload, id]) => everywhere.get(payload) !== id),
    'lost, or under another id',
  ).toEqual([]);
  expect(everywhere.size, 'never committed').toBe(ledger.committed.size);
}

describe.each<{ kind: QueueKind; kills: number }>([
  { kind: 'sharded', kills: isTorture ? 20 : 5 },
  { kind: 'unsharded', kills: isTorture ? 6 : 2 },
  { kind: 'unsharded-grouped', kills: isTorture ? 6 : 2 },
])('an instance with a $kind queue, killed under remote sessions', ({ kind, kills }) => {
  it(`loses and duplicates nothing and reports how each commit ended, through ${kills} kills or more`, {
    timeout: 240_000,
  }, async () => {
    const seed = drawnSeed;
    console.info(`remote crash test, ${kind}: seed ${seed}`);
    const next = random(seed);
    const dir = makeFolder();
    const ledger = new Ledger();
    const ending = new AbortController();
    let host = await startHost(dir, kind);
    const clients: RemoteInstance[] = [
      await connect({ dir, connectMs: 60_000 }),
      await connect({ dir, connectMs: 60_000 }),
    ];
    const sessions = clients.flatMap((client) => Array.from({ length: 12 }, () => client.openSession()));
    const work = sessions.map((session, index) =>
      index % 2 === 0
        ? enqueueForever(session, String(index), ledger, ending.signal)
        : dequeueForever(session, ledger, ending.signal),
    );
    const progress = () => ledger.committed.size + ledger.consumed.size;
    // Only by chance does a kill lose the answer to a commit, and rarely on a slow disk with few commits under way.
    const isEnough = (done: number) => done >= kills && (ledger.commitsLost > 0 || done >= 10 * kills);
    for (let done = 0; !isEnough(done); done += 1) {
      const before = progress();
      // On a busy machine sessions may reconnect more slowly than the pause, and then no commit would be under way.
      await expect.poll(progress, { timeout: 60_000 }).toBeGreaterThan(before);
      await pause(5 + next() * 250); // The kill comes at a random moment.
      await kill(host);
      if (next() < 0.25) {
        const early = forkHost(dir, kind); // This process is killed while it starts and recovers.
        await pause(40 + next() * 200);
        await kill(early);
      }
      host = await startHost(dir, kind);
    }
    const before = ledger.consumed.size;
    await expect.poll(() => ledger.consumed.size, { timeout: 60_000 }).toBeGreaterThan(before + 200);
    ending.abort();
    await Promise.all(work);

    await kill(host);
    const live = await readQueue(dir); // The opening applies the log, which may have the last outcomes.
    const outcomes = readOutcomes(dir, kind);
    for (const [session, ids] of ledger.lastIds) expect(outcomes.get(session)).toEqual(ids);
    check(ledger, live);
    expect(ledger.commitsLost).toBeGreaterThan(0);
    await Promise.all(clients.map((client) => client.close()));
  });
});
