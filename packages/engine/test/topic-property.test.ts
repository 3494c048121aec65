/**
 * Random commands of publishers and subscribers against a topic and against a model of it: each subscriber gets what was
 * committed while it subscribed and is meant for it, once, and of each publisher in order.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Instance, openInstance, type QueueKind, type Session } from '../src/index.ts';
import { makeFolder } from './folder.ts';
import { isTorture } from './random.ts';

const topic = 'news';
const names = ['one', 'two', 'three'] as const;
type Name = (typeof names)[number];

interface Sent {
  payload: number;
  publisher: string;
  recipients: Name[] | undefined;
}

class Model {
  nextPayload = 1;
  opened = 1;
  staged: Sent[][] = [[], []];
  /** What each subscriber has before it, in the order of the commits; absent: it does not subscribe. */
  ready = new Map<Name, Sent[]>();
  held = new Map<Name, Sent[]>();
}

interface Real {
  dir: string;
  instance: Instance;
  publishers: Session[];
  consumers: Map<Name, Session>;
}

async function open(real: Real): Promise<void> {
  // Small partitions and a small cache: truncation and bulk reads happen all the time.
  real.instance = await openInstance({ dir: real.dir, partitionMessagesMax: 4, cacheBytesMax: 400 });
  real.publishers = [real.instance.openSession(), real.instance.openSession()];
  real.consumers = new Map(names.map((name) => [name, real.instance.openSession()]));
}

type Command = fc.AsyncCommand<Model, Real>;
const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const subscribe = (name: Name) =>
  command(`subscribe(${name})`, async (model, real) => {
    await real.instance.subscribe(topic, { name });
    if (model.ready.has(name)) return;
    model.ready.set(name, []);
    model.held.set(name, []);
  });

const unsubscribe = (name: Name) =>
  command(`unsubscribe(${name})`, async (model, real) => {
    if (!model.ready.has(name)) return;
    await real.consumers.get(name)!.rollback();
    await real.instance.unsubscribe(topic, name);
    model.ready.delete(name);
    model.held.delete(name);
  });

const publish = (publisher: number, wanted: Name[]) =>
  command(`publish(${publisher}, [${wanted}])`, async (model, real) => {
    const known = wanted.filter((name) => model.ready.has(name));
    const recipients = known.length > 0 ? known : undefined;
    const payload = model.nextPayload;
    model.nextPayload += 1;
    real.publishers[publisher]!.enqueue(topic, {
      payload: String(payload),
      ...(recipients === undefined ? {} : { recipients }),
    });
    model.staged[publisher]!.push({ payload, publisher: `${model.opened}.${publisher}`, recipients });
  });

const commitPublisher = (publisher: number) =>
  command(`commit(${publisher})`, async (model, real) => {
    await real.publishers[publisher]!.commit();
    for (const sent of model.staged[publisher]!) {
      for (const [name, ready] of model.ready) {
        if (sent.recipients === undefined || sent.recipients.includes(name)) ready.push(sent);
      }
    }
    model.staged[publisher] = [];
  });

const dequeue = (name: Name, max: number) =>
  command(`dequeue(${name}, ${max})`, async (model, real) => {
    const ready = model.ready.get(name);
    if (ready === undefined) return;
    const messages = await real.consumers.get(name)!.dequeue(topic, { subscriber: name, max });
    const payloads = messages.map((message) => Number(message.payload.toString()));
    expect(payloads.length).toBeGreaterThanOrEqual(Math.min(1, ready.length));
    for (const publisher of new Set(ready.map((sent) => sent.publisher))) {
      const own = ready.filter((sent) => sent.publisher === publisher).map(({ payload }) => payload);
      const got = payloads.filter((payload) => own.includes(payload));
      expect(got).toEqual(own.slice(0, got.length));
    }
    for (const payload of payloads) {
      const at = ready.findIndex((sent) => sent.payload === payload);
      expect(at).toBeGreaterThanOrEqual(0);
      model.held.get(name)!.push(...ready.splice(at, 1));
    }
  });

const settle = (name: Name, how: 'commit' | 'rollback') =>
  command(`${how}(${name})`, async (model, real) => {
    await real.consumers.get(name)![how]();
    const held = model.held.get(name);
    if (held === undefined) return;
    if (how === 'rollback') giveBack(model, name);
    held.length = 0;
  });

/** Payloads are counted up as the commits are, but for those of a transaction that was open for long. */
function giveBack(model: Model, name: Name): void {
  const ready = model.ready.get(name)!;
  ready.unshift(...model.held.get(name)!);
  model.held.set(name, []);
  ready.sort((a, b) => a.payload - b.payload);
}

const reopen = command('reopen', async (model, real) => {
  await real.instance.close();
  await open(real);
  model.opened += 1;
  model.staged = [[], []];
  for (const name of model.ready.keys()) giveBack(model, name);
});

const commands = [
  fc.constantFrom(...names).map(subscribe),
  fc.constantFrom(...names).map(unsubscribe),
  ...Array.from({ length: 4 }, () =>
    fc.tuple(fc.nat({ max: 1 }), fc.subarray([...names])).map(([who, wanted]) => publish(who, wanted)),
  ),
  ...Array.from({ length: 2 }, () => fc.nat({ max: 1 }).map(commitPublisher)),
  ...Array.from({ length: 3 }, () =>
    fc
      .tuple(fc.constantFrom(...names), fc.integer({ min: 1, max: 5 }))
      .map(([name, max]) => dequeue(name, max)),
  ),
  fc.constantFrom(...names).map((name) => settle(name, 'commit')),
  fc.constantFrom(...names).map((name) => settle(name, 'rollback')),
  fc.constant(reopen),
];

describe.each<[QueueKind, number]>([
  ['sharded', isTorture ? 40 : 20],
  ['unsharded', isTorture ? 20 : 10],
  ['unsharded-grouped', isTorture ? 10 : 5],
])('a topic of kind %s under random commands', (kind, numRuns) => {
  it('agrees with a model of it, across reopening', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (sequence) => {
        const real = { dir: makeFolder() } as Real;
        await open(real);
        try {
          await real.instance.createQueue({ name: topic, kind, type: 'topic', shards: 2 });
          const model = new Model();
          await fc.asyncModelRun(() => ({ model, real }), sequence);
          for (const info of real.instance.subscribers(topic)) {
            const name = info.name as Name;
            const [ready, held] = [model.ready.get(name)!.length, model.held.get(name)!.length];
            expect(info.held).toBe(held);
            // In a shard, messages for others may still be before it: it passes over them when it comes to them.
            if (kind === 'sharded') expect(info.backlog).toBeGreaterThanOrEqual(ready + held);
            else expect(info.backlog).toBe(ready + held);
          }
        } finally {
          await real.instance.close();
        }
      }),
      { numRuns, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: false },
    );
  });
});
