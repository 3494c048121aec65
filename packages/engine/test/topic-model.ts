/**
 * Random commands of publishers and subscribers of a topic, and a model of it: each subscriber gets the messages that are addressed to
 * it and were committed while it subscribed, each once, and those of each publisher in order.
 */
import fc from 'fast-check';
import { expect, vi } from 'vitest';
import type { Session, SubscriberInfo } from '../src/index.ts';
import type { Promises } from './queue-model.ts';

export const topic = 'news';
export const names = ['one', 'two', 'three'] as const;
export type Name = (typeof names)[number];

/** Access to the topic: an instance itself, or another store. */
interface Client {
  openSession(): Session;
  subscribe(topic: string, subscriber: { name: string }): SubscriberInfo | Promise<SubscriberInfo>;
  unsubscribe(topic: string, name: string): void | Promise<void>;
  subscribers(topic: string): SubscriberInfo[] | Promise<SubscriberInfo[]>;
}

export interface TopicPromises extends Promises {
  /** A commit fails if a recipient no longer subscribes; otherwise that recipient gets nothing. */
  recipientsAtCommit: boolean;
  /** The backlog of a subscriber counts no messages that are addressed to others only. */
  ownBacklog: boolean;
}

export abstract class RealTopic {
  abstract readonly client: Client;
  abstract readonly promises: TopicPromises;
  publishers!: Session[];
  consumers!: Map<Name, Session>;

  /** Opens what `close` closed. */
  abstract open(): Promise<void>;
  abstract close(): Promise<void>;

  openSessions(): void {
    this.publishers = [this.client.openSession(), this.client.openSession()];
    this.consumers = new Map(names.map((name) => [name, this.client.openSession()]));
  }
}

interface Sent {
  payload: number;
  publisher: string;
  recipients: Name[] | undefined;
}

class Model {
  nextPayload = 1;
  opened = 1;
  staged: Sent[][] = [[], []];
  /** Messages that each subscriber is still to consume, in commit order; absent: it does not subscribe. */
  ready = new Map<Name, Sent[]>();
  held = new Map<Name, Sent[]>();
  /** Messages that were delivered to each subscriber at least once, including returned ones. */
  delivered = new Map<Name, Set<number>>();
}

type Command = fc.AsyncCommand<Model, RealTopic>;
const command = (name: string, run: (model: Model, real: RealTopic) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const subscribe = (name: Name) =>
  command(`subscribe(${name})`, async (model, real) => {
    await real.client.subscribe(topic, { name });
    if (model.ready.has(name)) return;
    model.ready.set(name, []);
    model.held.set(name, []);
    model.delivered.set(name, new Set());
  });

const unsubscribe = (name: Name) =>
  command(`unsubscribe(${name})`, async (model, real) => {
    if (!model.ready.has(name)) return;
    await real.consumers.get(name)!.rollback();
    await real.client.unsubscribe(topic, name);
    for (const of of [model.ready, model.held, model.delivered]) of.delete(name);
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
    const staged = model.staged[publisher]!;
    model.staged[publisher] = [];
    const isRefused =
      real.promises.recipientsAtCommit &&
      staged.some(({ recipients = [] }) => recipients.some((name) => !model.ready.has(name)));
    if (isRefused) {
      const refusal = expect.objectContaining({ code: 'SUBSCRIBER_NOT_FOUND' });
      return expect(real.publishers[publisher]!.commit()).rejects.toThrow(refusal);
    }
    await real.publishers[publisher]!.commit();
    for (const sent of staged) {
      for (const [name, ready] of model.ready) {
        if (sent.recipients === undefined || sent.recipients.includes(name)) ready.push(sent);
      }
    }
  });

const dequeue = (name: Name, max: number) =>
  command(`dequeue(${name}, ${max})`, async (model, real) => {
    const ready = model.ready.get(name);
    if (ready === undefined) return;
    const { exactCounts, orderAfterReturn } = real.promises;
    // In stores where a commit becomes visible a moment later, a dequeue waits if the model has messages.
    const waitMs = exactCounts || ready.length === 0 ? 0 : 20_000;
    const messages = await real.consumers.get(name)!.dequeue(topic, { subscriber: name, max, waitMs });
    const payloads = messages.map((message) => Number(message.payload.toString()));
    expect(payloads.length).toBeGreaterThanOrEqual(Math.min(1, ready.length));
    const delivered = model.delivered.get(name)!;
    const ordered = ready.filter(({ payload }) => orderAfterReturn || !delivered.has(payload));
    for (const publisher of new Set(ordered.map((sent) => sent.publisher))) {
      const own = ordered.filter((sent) => sent.publisher === publisher).map(({ payload }) => payload);
      const got = payloads.filter((payload) => own.includes(payload));
      expect(got).toEqual(own.slice(0, got.length));
    }
    for (const payload of payloads) {
      const at = ready.findIndex((sent) => sent.payload === payload);
      expect(at).toBeGreaterThanOrEqual(0);
      model.held.get(name)!.push(...ready.splice(at, 1));
      delivered.add(payload);
    }
  });

const settle = (name: Name, how: 'commit' | 'rollback') =>
  command(`${how}(${name})`, async (model, real) => {
    await real.consumers.get(name)![how]();
    const held = model.held.get(name);
    if (held === undefined) return;
    if (how === 'rollback') makeReady(model, name);
    held.length = 0;
  });

/** Payloads ascend with the commits, except those of a transaction that was open while others committed. */
function makeReady(model: Model, name: Name): void {
  const ready = model.ready.get(name)!;
  ready.unshift(...model.held.get(name)!);
  model.held.set(name, []);
  ready.sort((a, b) => a.payload - b.payload);
}

const reopen = command('reopen', async (model, real) => {
  await real.close();
  await real.open();
  model.opened += 1;
  model.staged = [[], []];
  for (const name of model.ready.keys()) makeReady(model, name);
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

/** A subscriber leaves with unconsumed messages and subscribes again, while another one stays. */
const walk = [
  ...[subscribe('one'), subscribe('two'), publish(0, []), publish(0, ['one']), commitPublisher(0)],
  ...[dequeue('one', 1), dequeue('two', 5), settle('one', 'commit'), settle('two', 'rollback')],
  ...[publish(1, ['one']), unsubscribe('one'), commitPublisher(1), subscribe('one'), publish(1, ['one'])],
  ...[publish(1, []), commitPublisher(1), dequeue('one', 5), settle('one', 'commit'), reopen],
  ...[dequeue('two', 5), settle('two', 'commit'), unsubscribe('two')],
];

/** Sequences of commands; `example` is one of them. */
export const sequences = fc.commands(commands, { maxCommands: 60, size: 'max' });
export const example: Iterable<Command> = walk;

/** Runs the commands against the topic, which has no subscriber yet, and at the end compares what each subscriber is still to consume. */
export async function runAgainstModel(real: RealTopic, sequence: Iterable<Command>): Promise<void> {
  const model = new Model();
  await fc.asyncModelRun(() => ({ model, real }), sequence);
  const { exactCounts, ownBacklog } = real.promises;
  const check = async () => {
    const infos = await real.client.subscribers(topic);
    expect(infos.map(({ name }) => name).sort()).toEqual([...model.ready.keys()].sort());
    for (const info of infos) {
      const name = info.name as Name;
      const [ready, held] = [model.ready.get(name)!.length, model.held.get(name)!.length];
      if (exactCounts) expect(info.held).toBe(held);
      if (ownBacklog) expect(info.backlog).toBe(ready + held);
      // The backlog may still count messages for others, which the cursor has not passed yet.
      else expect(info.backlog).toBeGreaterThanOrEqual(ready + held);
    }
  };
  await (exactCounts ? check() : vi.waitFor(check, { timeout: 20_000 }));
}
