/**
 * The process that serves an instance is killed by SIGKILL at random moments, and started again. Clients repeat each transaction under
 * its key until they have an answer, also over new connections. Afterwards its messages are stored once.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import {
  type BrowsedMessage,
  connect,
  QueueError,
  type RemoteInstance,
  type Session,
} from '../../src/index.ts';
import { instanceSocketPath } from '../../src/storage/socket-path.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { drawnSeed, isTorture, random } from '../random.ts';
import { stored } from '../streams/payloads.ts';
import { makeUnreliableLink } from './unreliable-link.ts';

const kills = isTorture ? 16 : 5;
const sessions = 16;

async function startHost(dir: string): Promise<ChildProcess> {
  const host = fork(new URL('./host.ts', import.meta.url), [dir, 'sharded'], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  onTestFinished(() => void host.kill('SIGKILL'));
  await Promise.race([once(host, 'message'), once(host, 'exit')]);
  expect(host.exitCode).toBeNull();
  return host;
}

interface Ledger {
  /** By key, the ids in the answer to its commit. */
  readonly answered: Map<string, string[]>;
  attempts: number;
  replays: number;
  readonly faults: unknown[];
}

/** Includes `COMMIT_OUTCOME_UNKNOWN`, after which a transaction can only be repeated safely under a key. */
function isOutage(error: unknown): boolean {
  return error instanceof QueueError && (error.retryable || error.code === 'COMMIT_OUTCOME_UNKNOWN');
}

const streamedBytes = 300_000;

/** Stages two messages. The second one has a correlation id for every third key, and a streamed payload for every fifth. */
async function stage(session: Session, key: string): Promise<void> {
  const number = Number(key.split('.')[1]);
  session.enqueue('q', { payload: `${key} a` });
  const more = number % 3 === 0 ? { correlationId: key } : {};
  const payload = `${key} b`;
  if (number % 5 > 0) session.enqueue('q', { payload, ...more });
  else await session.enqueueStream('q', { payload: Readable.from([streamed(payload)]), ...more });
}

/** A payload of more than one chunk that repeats the text. */
const streamed = (text: string) => Buffer.alloc(streamedBytes, `${text};`);

/** Commits two messages for each key, so that a torn transaction would be noticed. */
async function commitForever(
  clientOf: () => Promise<RemoteInstance>,
  name: string,
  ledger: Ledger,
  signal: AbortSignal,
): Promise<void> {
  let session = (await clientOf()).openSession();
  for (let number = 0; !signal.aborted; number += 1) {
    const key = `${name}.${number}`;
    for (let answered = false; !answered; ) {
      ledger.attempts += 1;
      try {
        await stage(session, key);
        const { ids, replayed } = await session.commit({ idempotencyKey: key });
        if (replayed) ledger.replays += 1;
        ledger.answered.set(key, ids);
        answered = true;
      } catch (error) {
        if (!isOutage(error)) ledger.faults.push(error);
        session = (await clientOf()).openSession(); // The new session knows nothing of earlier attempts.
      }
    }
    await pause(1); // With 16 sessions some always wait for an answer nevertheless.
  }
}

it(`the messages of each key are stored once although the process is killed ${kills} times`, {
  timeout: 240_000,
}, async () => {
  console.info(`idempotency crash test: seed ${drawnSeed}`);
  const next = random(drawnSeed);
  const dir = makeFolder();
  const ledger: Ledger = { answered: new Map(), attempts: 0, replays: 0, faults: [] };
  const ending = new AbortController();
  let host = await startHost(dir);
  const clients: RemoteInstance[] = [];
  const link = await makeUnreliableLink(instanceSocketPath(dir, 1));
  let serving = Promise.withResolvers<void>();
  serving.resolve();
  /**
   * Opens a client with a short `connectMs`, so that it gives up a lost connection before it can ask for the outcome of its last commit,
   * like a killed client. On a slow machine each further attempt has twice the time, but less than a new process needs to serve.
   */
  const newClient = async (): Promise<RemoteInstance> => {
    for (let connectMs = 20; ; connectMs = Math.min(2 * connectMs, 160)) {
      await serving.promise;
      try {
        const client = await connect({ path: link.path, connectMs });
        clients.push(client);
        return client;
      } catch (error) {
        if (!isOutage(error)) throw error;
      }
    }
  };
  const work = Array.from({ length: sessions }, (_, index) =>
    commitForever(newClient, String(index), ledger, ending.signal),
  );
  for (let done = 0; done < kills; done += 1) {
    const answered = ledger.answered.size;
    await expect.poll(() => ledger.answered.size, { timeout: 60_000 }).toBeGreaterThan(answered);
    await pause(next() * 50); // The kill comes at a random moment.
    link.loseAnswers();
    await pause(next() * 10);
    serving = Promise.withResolvers<void>();
    const ended = once(host, 'exit');
    host.kill('SIGKILL');
    await ended;
    link.cut();
    host = await startHost(dir);
    serving.resolve();
  }
  const before = ledger.answered.size;
  await expect.poll(() => ledger.answered.size, { timeout: 60_000 }).toBeGreaterThan(before + 100);
  ending.abort();
  await Promise.all(work);
  // All keys are still known, with the ids of their messages.
  const session = (await newClient()).openSession();
  const sample = [...ledger.answered].filter(() => next() < 0.1);
  for (const [key, ids] of sample) {
    await stage(session, key);
    expect(await session.commit({ idempotencyKey: key })).toMatchObject({ ids, replayed: true });
  }
  await Promise.all(clients.map((client) => client.close()));
  const closed = once(host, 'exit');
  host.kill('SIGKILL');
  await closed;

  expect(ledger.faults).toEqual([]);
  const found = await readAll(dir);
  const { payloads, uses } = stored(dir);
  expect(payloads).toBe(uses); // The uploads of replayed transactions were deleted.
  expect(uses).toBeGreaterThan(0);
  const expected = new Map(
    [...ledger.answered].flatMap(([key, [a, b]]) => [[`${key} a`, a!] as const, [`${key} b`, b!] as const]),
  );
  expect(found.length).toBe(expected.size);
  expect(new Map(found)).toEqual(expected);
  expect(sample.length).toBeGreaterThan(5);
  expect(ledger.replays, 'answers that were lost').toBeGreaterThan(0);
  console.info(`${ledger.answered.size} keys, ${ledger.attempts} attempts, ${ledger.replays} replays`);
});

/** The text that a payload repeats. Expects a streamed payload to be complete and unchanged. */
async function textOf(message: BrowsedMessage): Promise<string> {
  if (!message.streamed) return message.payload.toString();
  const pieces: Buffer[] = [];
  for await (const piece of message.payloadStream()) pieces.push(piece);
  const payload = Buffer.concat(pieces);
  const text = payload.toString('utf8', 0, payload.indexOf(';'));
  expect(payload.equals(streamed(text))).toBe(true);
  return text;
}

/** Payload and id of each message of the queue. */
async function readAll(dir: string): Promise<[payload: string, id: string][]> {
  const instance = await openTestInstance({ dir });
  const found: [string, string][] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const page = await instance.browse('q', { limit: 1_000, ...(after !== undefined && { after }) });
    for (const message of page.messages) found.push([await textOf(message), message.id]);
    after = page.next;
  }
  return found;
}
