/**
 * Random commands of three sessions against a queue of a few lines. The model knows what is ready, held and consumed; the
 * store under test must deliver exactly what the model would, in an order it allows.
 */
import fc from 'fast-check';
import { expect, vi } from 'vitest';
import type { BrowsedMessage, Message, QueueInfo, Session } from '../src/index.ts';

/** Opens the sessions: an instance itself, a client at the other end of a socket, or another store. */
export interface Client {
  openSession(): Session;
  browse(
    queue: string,
    options: { limit: number; after?: string },
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }>;
  queue(name: string): QueueInfo | Promise<QueueInfo>;
}

export interface Real {
  client: Client;
  sessions: Session[];
  promises: Promises;
  /** Opens what `close` closed, with new sessions. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** Promises in which stores differ. */
export interface Promises {
  /** A returned message is delivered before later ones; otherwise only first deliveries are in order. */
  orderAfterReturn: boolean;
  /** Returned messages count as ready, not as held, and every call after a commit sees its effects. */
  exactCounts: boolean;
}

interface Held {
  payload: number;
  receipt: string;
}

/** One queue. Payloads are numbers, counted up, so a payload is the identity of a message. */
export class Model {
  nextPayload = 1;
  /** Order is kept per session. Sessions after a reopen are new ones. */
  opened = 1;
  /** Messages that are committed and not consumed, with the holder of each: a session's transaction, a timed hold, or none. */
  live = new Map<number, { enqueuer: string; heldBy: 'nobody' | 'hold' | number; delivered: boolean }>();
  consumed = new Set<number>();
  staged = sessionNumbers.map(() => [] as number[]);
  taken = sessionNumbers.map(() => [] as number[]);
  received: Held[] = [];
  acknowledged = sessionNumbers.map(() => [] as Held[]);

  ready(): number[] {
    return [...this.live].filter(([, { heldBy }]) => heldBy === 'nobody').map(([payload]) => payload);
  }

  makeReady(payloads: readonly number[]): void {
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

export const sessionNumbers = [0, 1, 2];
export const queue = 'orders';

/** Cases that the commands of a test's runs must reach, each at least once. */
export const cases = [
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
export const reached = new Set<Case>();
const reach = (of: Case, is = true) => void (is && reached.add(of));

/** The delivered messages are ready in the model, and those of each enqueuer come oldest first. */
function checkDelivery(
  model: Model,
  messages: Message[],
  max: number,
  { orderAfterReturn }: Promises,
): number[] {
  const payloads = messages.map((message) => Number(message.payload.toString()));
  const ready = model.ready();
  // If only a part of the messages is in memory, a call may return fewer than are ready, but at least one.
  expect(payloads.length).toBeGreaterThanOrEqual(Math.min(1, ready.length));
  expect(payloads.length).toBeLessThanOrEqual(max);
  expect(new Set(payloads).size).toBe(payloads.length);
  for (const enqueuer of new Set([...model.live.values()].map((message) => message.enqueuer))) {
    const of = (list: number[]) =>
      list.filter((payload) => {
        const live = model.live.get(payload);
        return live?.enqueuer === enqueuer && (orderAfterReturn || !live.delivered);
      });
    expect(of(payloads)).toEqual(of(ready).slice(0, of(payloads).length));
  }
  for (const payload of payloads) {
    expect(ready).toContain(payload);
    model.live.get(payload)!.delivered = true;
  }
  return payloads;
}

/** In stores where a commit becomes visible a moment later, a dequeue waits if the model has ready messages. */
const waitMsFor = (model: Model, { promises }: Real) =>
  promises.exactCounts || model.ready().length === 0 ? 0 : 20_000;

export type Command = fc.AsyncCommand<Model, Real>;
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
    const messages = await real.sessions[session]!.dequeue(queue, { max, waitMs: waitMsFor(model, real) });
    reach(messages.length > 0 ? 'dequeue: some' : 'dequeue: none');
    for (const payload of checkDelivery(model, messages, max, real.promises)) {
      model.live.get(payload)!.heldBy = session;
      model.taken[session]!.push(payload);
    }
  });

const receive = (session: number, max: number) =>
  command(`receive(${session}, ${max})`, async (model, real) => {
    const messages = await real.sessions[session]!.receive(queue, {
      max,
      holdMs: 600_000,
      waitMs: waitMsFor(model, real),
    });
    reach(messages.length > 0 ? 'receive: some' : 'receive: none');
    for (const [index, payload] of checkDelivery(model, messages, max, real.promises).entries()) {
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
    model.makeReady([held.payload]);
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
      model.live.set(payload, { enqueuer: `${model.opened}.${session}`, heldBy: 'nobody', delivered: false });
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
    model.makeReady(model.taken[session]!);
    model.received.push(...model.acknowledged[session]!);
    model.endTransaction(session);
  });

const reopen = command('reopen', async (model, real) => {
  reach('reopen: with timed holds', model.received.length > 0);
  reach('reopen: with open transactions', !sessionNumbers.every((session) => model.isIdle(session)));
  reach('reopen: with ready messages', model.ready().length > 0);
  await real.close();
  await real.open();
  model.opened += 1;
  for (const session of sessionNumbers) model.endTransaction(session);
  model.received = [];
  model.makeReady([...model.live.keys()]);
});

const browse = command('browse', async (model, real) => {
  await once(real, async () => {
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
});

const count = command('count', async (model, real) => {
  const ready = model.ready().length;
  reach('count: held and ready', ready > 0 && ready < model.live.size);
  await once(real, async () => {
    const counts = await real.client.queue(queue);
    if (real.promises.exactCounts) expect(counts).toMatchObject({ ready, held: model.live.size - ready });
    expect(counts.ready + counts.held).toBe(model.live.size);
    expect(counts).toMatchObject({
      enqueued: model.live.size + model.consumed.size,
      consumed: model.consumed.size,
    });
  });
});

/** Runs the check, and repeats it until it holds in stores where a commit becomes visible a moment later. */
const once = ({ promises }: Real, check: () => Promise<void>): Promise<void> =>
  promises.exactCounts ? check() : vi.waitFor(check, { timeout: 20_000 });

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

/** The first run reaches all cases, which a handful of random runs, some of them short, may not. */
export const walk = [
  ...Array.from({ length: 9 }, () => enqueue(0)),
  ...[commit(0), browse, dequeue(1, 3), receive(2, 3), acknowledge(2, 0), count, commit(2), commit(1)],
  ...[release(0), enqueue(1), rollback(1), dequeue(0, 2), rollback(0), acknowledge(1, 0), rollback(1)],
  ...[dequeue(2, 1), enqueue(0), reopen],
  ...Array.from({ length: 6 }, () => dequeue(0, 6)),
  ...[receive(1, 2), commit(1)],
];

/** Messages are in memory and on disk, and both must agree after a reopen. */
export const withReopen = [...commands, fc.constant(reopen)];

/** The commands at the end of each run: a browse and the counts are compared with the model, before and after a reopen. */
export const atTheEnd = [...sessionNumbers.map(commit), browse, count, reopen, browse, count];
