/**
 * Random uploads, commits, rollbacks, deliveries and reopenings against a model of a few lines: each message is delivered with its
 * payload, and the file has exactly the chunks of messages that are not consumed.
 */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { type Instance, openInstance, type Session } from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { isTorture } from '../random.ts';
import { bytesOf, digest, stored } from './payloads.ts';

const queue = 'files';
const chunk = 256 * 1024;
const sizes = [0, 1_000, chunk, chunk + 1, 2 * chunk, 3 * chunk - 1] as const;
/** A payload that fits into its record has no chunks. */
const chunksOf = (bytes: number) => (bytes <= chunk ? 0 : Math.ceil(bytes / chunk));

interface Sent {
  seed: number;
  bytes: number;
}

type Subscriber = string | undefined;

class Model {
  nextSeed = 1;
  staged: Sent[][] = [[], []];
  /** The unconsumed messages of each consumer by seed, and whether it holds them. */
  live: Map<Subscriber, Map<number, Sent & { held: boolean }>>;

  constructor(subscribers: readonly Subscriber[]) {
    this.live = new Map(subscribers.map((name) => [name, new Map()]));
  }

  /** The number of chunks of unconsumed messages, each counted once, and of uncommitted ones. */
  get chunks(): number {
    const sent = new Map<number, Sent>();
    for (const own of this.live.values()) for (const [seed, each] of own) sent.set(seed, each);
    for (const each of this.staged.flat()) sent.set(each.seed, each);
    return [...sent.values()].reduce((sum, { bytes }) => sum + chunksOf(bytes), 0);
  }
}

interface Real {
  dir: string;
  instance: Instance;
  enqueuers: Session[];
  consumers: Map<Subscriber, Session>;
}

async function open(real: Real, subscribers: readonly Subscriber[]): Promise<void> {
  real.instance = await openInstance({ dir: real.dir, partitionMessagesMax: 3 });
  real.enqueuers = [real.instance.openSession(), real.instance.openSession()];
  real.consumers = new Map(subscribers.map((name) => [name, real.instance.openSession()]));
}

type Command = fc.AsyncCommand<Model, Real>;
const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const upload = (session: number, bytes: number) =>
  command(`upload(${session}, ${bytes})`, async (model, real) => {
    const seed = model.nextSeed;
    model.nextSeed += 1;
    const message = { payload: bytesOf(seed, bytes), correlationId: String(seed), bytes };
    await real.enqueuers[session]!.enqueueStream(queue, message);
    model.staged[session]!.push({ seed, bytes });
  });

const uploadFailing = (session: number, bytes: number) =>
  command(`uploadFailing(${session}, ${bytes})`, async (_, real) => {
    const failing = async function* () {
      yield* bytesOf(0, bytes);
      throw new Error('broken off');
    };
    const upload = real.enqueuers[session]!.enqueueStream(queue, { payload: failing() });
    await expect(upload).rejects.toMatchObject({ code: 'PAYLOAD_INCOMPLETE' });
  });

const commit = (session: number) =>
  command(`commit(${session})`, async (model, real) => {
    const { ids } = await real.enqueuers[session]!.commit();
    expect(ids).toHaveLength(model.staged[session]!.length);
    for (const own of model.live.values()) {
      for (const each of model.staged[session]!) own.set(each.seed, { ...each, held: false });
    }
    model.staged[session] = [];
  });

const rollback = (session: number) =>
  command(`rollback(${session})`, async (model, real) => {
    await real.enqueuers[session]!.rollback();
    model.staged[session] = [];
  });

const take = (who: Subscriber, end: 'commit' | 'rollback' | 'hold') =>
  command(`take(${who ?? ''}, ${end})`, async (model, real) => {
    const own = model.live.get(who)!;
    const session = real.consumers.get(who)!;
    const options = { max: 2, ...(who === undefined ? {} : { subscriber: who }) };
    for (const message of await session.dequeue(queue, options)) {
      const sent = own.get(Number(message.correlationId))!;
      expect(sent.held).toBe(false);
      sent.held = true;
      expect(await digest(message.payloadStream())).toEqual(await digest(bytesOf(sent.seed, sent.bytes)));
    }
    if (end === 'hold') return;
    if (end === 'commit') await session.commit();
    else await session.rollback();
    for (const [seed, each] of own) {
      if (!each.held) continue;
      if (end === 'commit') own.delete(seed);
      else each.held = false;
    }
  });

const browse = (who: Subscriber) =>
  command(`browse(${who ?? ''})`, async (model, real) => {
    const options = { limit: 500, ...(who === undefined ? {} : { subscriber: who }) };
    const { messages } = await real.instance.browse(queue, options);
    const seeds = messages.map(({ correlationId }) => Number(correlationId));
    expect(seeds.sort((a, b) => a - b)).toEqual([...model.live.get(who)!.keys()].sort((a, b) => a - b));
  });

/** Waits for the count, since chunks are deleted after the commits. */
const count = command('count', async (model, real) => {
  await vi.waitFor(() => expect(stored(real.dir).chunks).toBe(model.chunks), {
    timeout: 20_000,
    interval: 5,
  });
});

const reopen = (subscribers: readonly Subscriber[]) =>
  command('reopen', async (model, real) => {
    await real.instance.close();
    await open(real, subscribers);
    model.staged = [[], []];
    for (const own of model.live.values()) for (const each of own.values()) each.held = false;
  });

describe.each<[string, readonly Subscriber[]]>([
  ['queue', [undefined]],
  ['topic', ['one', 'two']],
])('a %s of streamed payloads under random commands', (type, subscribers) => {
  it('agrees with a model of it, including the number of chunks', { timeout: 300_000 }, async () => {
    const session = fc.constantFrom(0, 1);
    const size = fc.constantFrom(...sizes);
    const who = fc.constantFrom(...subscribers);
    const commands = [
      fc.tuple(session, size).map((args) => upload(...args)),
      fc.tuple(session, size).map((args) => upload(...args)),
      fc.tuple(session, size).map((args) => uploadFailing(...args)),
      session.map(commit),
      session.map(commit),
      session.map(rollback),
      fc.tuple(who, fc.constantFrom('commit', 'commit', 'rollback', 'hold')).map((args) => take(...args)),
      who.map(browse),
      fc.constant(count),
      fc.constant(reopen(subscribers)),
    ];
    const dir = makeFolder();
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (run) => {
        round += 1;
        const real = { dir: `${dir}/${round}` } as Real;
        await open(real, subscribers);
        try {
          await real.instance.createQueue({
            name: queue,
            type: type as 'queue' | 'topic',
            attemptsMax: null,
          });
          for (const name of subscribers)
            if (name !== undefined) await real.instance.subscribe(queue, { name });
          await fc.asyncModelRun(
            () => ({ model: new Model(subscribers), real }),
            [...run, commit(0), commit(1), count, reopen(subscribers), count, ...subscribers.map(browse)],
          );
        } finally {
          await real.instance.close();
        }
      }),
      { numRuns: isTorture ? 15 : 4 },
    );
  });
});
