/**
 * Random commands of three sessions against the engine and against a queue of a few lines. The model knows what is
 * ready, held and consumed; the engine must deliver exactly what the model would, in an order it allows.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  connect,
  type Instance,
  type Message,
  openInstance,
  type QueueInfo,
  type QueueKind,
  type Session,
  serveInstance,
} from '../src/index.ts';
import { makeFolder } from './folder.ts';
import { isTorture } from './random.ts';

/** Whoever has the sessions: the instance itself, or a client at the other end of a socket. */
type Client = Pick<Instance, 'openSession' | 'browse'> & {
  queue(name: string): QueueInfo | Promise<QueueInfo>;
};

interface Real {
  instance: Instance;
  client: Client;
  /** Ends the client, then closes the instance. */
  close(): Promise<void>;
  sessions: Session[];
  dir: string;
  remote: boolean;
}

interface Held {
  payload: number;
  receipt: string;
}

/** One queue. Payloads are numbers, counted up, so a payload is the identity of a message. */
class Model {
  nextPayload = 1;
  /** Order is kept for a session; after a reopen the sessions are others. */
  opened = 1;
  /** Committed and not consumed, with who holds each: a session's transaction, a timed hold, or nobody. */
  live = new Map<number, { enqueuer: string; heldBy: 'nobody' | 'hold' | number }>();
  consumed = new Set<number>();
  staged = sessionNumbers.map(() => [] as number[]);
  taken = sessionNumbers.map(() => [] as number[]);
  received: Held[] = [];
  acknowledged = sessionNumbers.map(() => [] as Held[]);

  ready(): number[] {
    return [...this.live].filter(([, { heldBy }]) => heldBy === 'nobody').map(([payload]) => payload);
  }

  giveBack(payloads: readonly number[]): void {
    for (const payload of payloads) this.live.get(payload)!.heldBy = 'nobody';
  }

  isIdle(session: number): boolean {
    const lists = [this.staged, this.taken, this.acknowledged];
    return lists.every((list) => list[session]!.length === 0);
  }

  endTransaction(session: number): void {
    this.staged[session] = [];
    this.taken[session] = [];
    this.acknowledged[session] = [];
  }
}

const sessionNumbers = [0, 1, 2];
const queue = 'orders';

/** What commands meet in the runs of a test, each of them at least once. */
const cases = [
  'dequeue: some',
  'dequeue: none',
  'receive: some',
  'receive: none',
  'acknowledge',
  'release',
  'commit: enqueued',
  'commit: dequeued',
  'commit: acknowledged',
  'commit: nothing',
  'rollback: enqueued',
  'rollback: dequeued',
  'rollback: acknowledged',
  'reopen: with timed holds',
  'reopen: with open transactions',
  'reopen: with ready messages',
  'browse: several pages',
  'count: held and ready',
] as const;
type Case = (typeof cases)[number];
const reached = new Set<Case>();
const reach = (of: Case, is = true) => void (is && reached.add(of));

/** What was delivered is what the model has ready, and of each enqueuer the oldest first. */
function checkDelivery(model: Model, messages: Message[], max: number): number[] {
  const payloads = messages.map((message) => Number(message.payload.toString()));
  const ready = model.ready();
  // Where only a part is in memory, a call may bring less than there is, but never nothing.
  expect(payloads.length).toBeGreaterThanOrEqual(Math.min(1, ready.length));
  expect(payloads.length).toBeLessThanOrEqual(max);
  expect(new Set(payloads).size).toBe(payloads.length);
  for (const enqueuer of new Set([...model.live.values()].map((message) => message.enqueuer))) {
    const of = (list: number[]) => list.filter((payload) => model.live.get(payload)?.enqueuer === enqueuer);
    expect(of(payloads)).toEqual(of(ready).slice(0, of(payloads).length));
  }
  for (const payload of payloads) expect(ready).toContain(payload);
  return payloads;
}

type Command = fc.AsyncCommand<Model, Real>;
const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const enqueue = (session: number) =>
  command(`enqueue(${session})`, async (model, real) => {
    const payload = model.nextPayload;
    model.nextPayload += 1;
    real.sessions[session]!.enqueue(queue, { payload: String(payload) });
    model.staged[session]!.push(payload);
  });

const dequeue = (session: number, max: number) =>
  command(`dequeue(${session}, ${max})`, async (model, real) => {
    const messages = await real.sessions[session]!.dequeue(queue, { max });
    reach(messages.length > 0 ? 'dequeue: some' : 'dequeue: none');
    for (const payload of checkDelivery(model, messages, max)) {
      model.live.get(payload)!.heldBy = session;
      model.taken[session]!.push(payload);
    }
  });

const receive = (session: number, max: number) =>
  command(`receive(${session}, ${max})`, async (model, real) => {
    const messages = await real.sessions[session]!.receive(queue, { max, holdMs: 600_000 });
    reach(messages.length > 0 ? 'receive: some' : 'receive: none');
    for (const [index, payload] of checkDelivery(model, messages, max).entries()) {
      model.live.get(payload)!.heldBy = 'hold';
      model.received.push({ payload, receipt: messages[index]!.receipt });
    }
  });

const acknowledge = (session: number, pick: number) =>
  command(`acknowledge(${session}, ${pick})`, async (model, real) => {
    const held = model.received[pick % Math.max(1, model.received.length)];
    if (held === undefined) return;
    real.sessions[session]!.acknowledge(queue, [held.receipt]);
    reach('acknowledge');
    model.received.splice(model.received.indexOf(held), 1);
    model.acknowledged[session]!.push(held);
  });

const release = (pick: number) =>
  command(`release(${pick})`, async (model, real) => {
    const held = model.received[pick % Math.max(1, model.received.length)];
    if (held === undefined) return;
    await real.sessions[0]!.release(queue, [held.receipt]);
    reach('release');
    model.received.splice(model.received.indexOf(held), 1);
    model.giveBack([held.payload]);
    await expect(real.sessions[0]!.release(queue, [held.receipt])).rejects.toThrow(
      expect.objectContaining({ code: 'RECEIPT_STALE' }),
    );
  });

const commit = (session: number) =>
  command(`commit(${session})`, async (model, real) => {
    const { ids } = await real.sessions[session]!.commit();
    expect(ids).toHaveLength(model.staged[session]!.length);
    reach('commit: enqueued', model.staged[session]!.length > 0);
    reach('commit: dequeued', model.taken[session]!.length > 0);
    reach('commit: acknowledged', model.acknowledged[session]!.length > 0);
    reach('commit: nothing', model.isIdle(session));
    for (const payload of model.staged[session]!)
      model.live.set(payload, { enqueuer: `${model.opened}.${session}`, heldBy: 'nobody' });
    for (const payload of [
      ...model.taken[session]!,
      ...model.acknowledged[session]!.map((held) => held.payload),
    ]) {
      model.live.delete(payload);
      model.consumed.add(payload);
    }
    model.endTransaction(session);
  });

const rollback = (session: number) =>
  command(`rollback(${session})`, async (model, real) => {
    await real.sessions[session]!.rollback();
    reach('rollback: enqueued', model.staged[session]!.length > 0);
    reach('rollback: dequeued', model.taken[session]!.length > 0);
    reach('rollback: acknowledged', model.acknowledged[session]!.length > 0);
    model.giveBack(model.taken[session]!);
    model.received.push(...model.acknowledged[session]!);
    model.endTransaction(session);
  });

const reopen = command('reopen', async (model, real) => {
  reach('reopen: with timed holds', model.received.length > 0);
  reach('reopen: with open transactions', !sessionNumbers.every((session) => model.isIdle(session)));
  reach('reopen: with ready messages', model.ready().length > 0);
  await real.close();
  await open(real);
  model.opened += 1;
  for (const session of sessionNumbers) model.endTransaction(session);
  model.received = [];
  model.giveBack([...model.live.keys()]);
});

const browse = command('browse', async (model, real) => {
  const found: number[] = [];
  let after: string | undefined;
  do {
    const page = await real.client.browse(queue, { limit: 7, ...(after === undefined ? {} : { after }) });
    found.push(...page.messages.map((message) => Number(message.payload.toString())));
    after = page.next ?? undefined;
    reach('browse: several pages', after !== undefined);
  } while (after !== undefined);
  expect(found.sort((a, b) => a - b)).toEqual([...model.live.keys()].sort((a, b) => a - b));
});

const count = command('count', async (model, real) => {
  const ready = model.ready().length;
  reach('count: held and ready', ready > 0 && ready < model.live.size);
  expect(await real.client.queue(queue)).toMatchObject({
    ready,
    held: model.live.size - ready,
    enqueued: model.live.size + model.consumed.size,
    consumed: model.consumed.size,
  });
});

async function open(real: Real): Promise<void> {
  const instance = await openInstance({ dir: real.dir, partitionMessagesMax: 5 });
  real.instance = instance;
  real.client = instance;
  real.close = () => instance.close();
  if (real.remote) {
    const served = await serveInstance(instance);
    const client = await connect({ path: served.path });
    real.client = client;
    real.close = async () => {
      await client.close();
      await served.close();
      await instance.close();
    };
  }
  real.sessions = sessionNumbers.map(() => real.client.openSession());
}

const session = fc.constantFrom(...sessionNumbers);
const few = fc.integer({ min: 1, max: 6 });
const commands = [
  session.map(enqueue),
  session.map(enqueue),
  session.map(enqueue),
  fc.tuple(session, few).map(([who, max]) => dequeue(who, max)),
  fc.tuple(session, few).map(([who, max]) => receive(who, max)),
  fc.tuple(session, fc.nat(20)).map(([who, pick]) => acknowledge(who, pick)),
  fc.nat(20).map(release),
  session.map(commit),
  session.map(commit),
  session.map(rollback),
  fc.constant(browse),
  fc.constant(count),
];

/** The first run: it meets all cases, which a handful of random runs may not, some of them being short. */
const walk = [
  ...Array.from({ length: 9 }, () => enqueue(0)),
  ...[commit(0), browse, dequeue(1, 3), receive(2, 3), acknowledge(2, 0), count, commit(2), commit(1)],
  ...[release(0), enqueue(1), rollback(1), dequeue(0, 2), rollback(0), acknowledge(1, 0), rollback(1)],
  ...[dequeue(2, 1), enqueue(0), reopen],
  ...Array.from({ length: 6 }, () => dequeue(0, 6)),
  ...[receive(1, 2), commit(1)],
];

/** Random runs, the walk among them; `npm run torture` has more. */
const runsInGate = { many: 12, few: 5 };
const runsInTorture = { many: 60, few: 16 };

/** Messages of a sharded queue live in memory and in partitions: both must tell the same after a reopen. */
const withReopen = [...commands, fc.constant(reopen)];

describe.each<[QueueKind, 'embedded' | 'remote']>([
  ['sharded', 'embedded'],
  ['unsharded', 'embedded'],
  ['sharded', 'remote'],
  ['unsharded', 'remote'],
  ['unsharded-grouped', 'embedded'],
  ['unsharded-grouped', 'remote'],
])('a %s queue under random commands of %s sessions', (kind, placement) => {
  it('agrees with a model of it, across reopening', { timeout: 300_000 }, async () => {
    const dir = makeFolder();
    const runs = isTorture ? runsInTorture : runsInGate;
    reached.clear();
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.commands(withReopen, { maxCommands: 80, size: 'max' }), async (run) => {
        round += 1;
        const real = { dir: `${dir}/${round}`, remote: placement === 'remote' } as Real;
        await open(real);
        try {
          await real.instance.createQueue({ name: queue, kind, shards: 2 });
          await fc.asyncModelRun(
            () => ({ model: new Model(), real }),
            [...run, ...sessionNumbers.map(commit), browse, count, reopen, browse, count],
          );
        } finally {
          await real.close();
        }
      }),
      {
        numRuns: placement === 'remote' || kind === 'unsharded-grouped' ? runs.few : runs.many,
        examples: [[walk]],
      },
    );
    expect(
      cases.filter((of) => !reached.has(of)),
      'cases that no run met',
    ).toEqual([]);
  });
});
