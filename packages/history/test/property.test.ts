/** Legal histories pass, and a history that is changed so that it breaks a promise fails. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeVerdict } from '../src/check/report.ts';
import {
  checkHistory,
  type Delivery,
  type Inspection,
  type Operation,
  type Transaction,
  type ViolationKind,
} from '../src/index.ts';
import { Chance, LegalHistory } from './legal-history.ts';

const steps = 250;
/** `npm run torture` has more runs. */
const times = process.env.SHARDLAB_SEED === undefined ? 1 : 10;
const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });

class Changed {
  readonly operations: Operation[];
  readonly chance: Chance;

  constructor(seed: number) {
    this.operations = structuredClone(new LegalHistory(seed, steps).operations);
    this.chance = new Chance(seed + 1);
  }

  /** A random operation of the type that `wanted` accepts. */
  any<Type extends Operation['type']>(
    type: Type,
    wanted: (operation: Extract<Operation, { type: Type }>) => boolean,
  ): Extract<Operation, { type: Type }> | undefined {
    const found = this.operations.filter(
      (each): each is Extract<Operation, { type: Type }> => each.type === type && wanted(each as never),
    );
    return found.length === 0 ? undefined : this.chance.pick(found);
  }

  get last(): Inspection {
    return this.operations.findLast((each) => each.type === 'inspection')!;
  }

  /** What the last inspection found for a queue and a subscriber. */
  contentFor(queue: string, subscriber: string | undefined) {
    return this.last.contents.find((each) => each.queue === queue && each.subscriber === subscriber)!;
  }

  consumption(wanted: (operation: Transaction) => boolean = () => true): Transaction | undefined {
    return this.any(
      'transaction',
      (each) => each.outcome === 'ok' && each.consumes.length > 0 && wanted(each),
    );
  }

  deliveryOf(id: string): Delivery {
    return this.operations.find((each): each is Delivery => each.id === id)!;
  }
}

/** Changes a history so that it breaks a promise; false if the history has no operation for which that is possible. */
type Mutation = (changed: Changed) => boolean;

const mutations: Record<string, { kinds: ViolationKind[]; mutate: Mutation }> = {
  'a message that nobody consumed is missing': {
    kinds: ['loss', 'torn'],
    mutate: ({ last, operations }) => {
      const enqueued = new Set(
        operations.flatMap((each) =>
          each.type === 'transaction' && each.outcome === 'ok'
            ? each.enqueues.map((item) => item.message)
            : [],
        ),
      );
      for (const each of operations) {
        if (each.type !== 'transaction' || each.outcome !== 'unknown') continue;
        for (const { message } of each.consumes) enqueued.delete(message); // it may have been consumed
      }
      for (const { messages } of last.contents) {
        const index = messages.findIndex(({ message }) => enqueued.has(message));
        if (index >= 0) return messages.splice(index, 1).length === 1;
      }
      return false;
    },
  },
  'an inspection finds a consumed message': {
    kinds: ['doubling'],
    mutate: (changed) => {
      const part = changed.consumption()?.consumes[0];
      if (part === undefined) return false;
      changed.contentFor(part.queue, part.subscriber).messages.push({ message: part.message });
      return true;
    },
  },
  'a consumed message is delivered again': {
    kinds: ['doubling'],
    mutate: (changed) => {
      const consumption = changed.consumption();
      const part = consumption?.consumes[0];
      if (consumption === undefined || part === undefined) return false;
      const [start, end] = [consumption.end + 10, consumption.end + 20];
      const again = changed.deliveryOf(part.delivery);
      changed.operations.push({ ...again, id: 'again', messages: [{ message: part.message }], start, end });
      return true;
    },
  },
  'a message is delivered while it is held': {
    kinds: ['doubling'],
    mutate: (changed) => {
      // If a timed hold may have expired by then, the second delivery is legal.
      const isHeldAt = ({ start, holdMs }: Delivery, at: number) =>
        holdMs === undefined || start + holdMs * 1e6 > at;
      const consumption = changed.consumption(({ start, consumes: [part] }) => {
        const delivery = changed.deliveryOf(part!.delivery);
        return delivery.end + 20 < start && isHeldAt(delivery, delivery.end + 10);
      });
      const part = consumption?.consumes[0];
      if (part === undefined) return false;
      const held = changed.deliveryOf(part.delivery);
      const [start, end] = [held.end + 5, held.end + 10];
      changed.operations.push({ ...held, id: 'again', messages: [{ message: part.message }], start, end });
      return true;
    },
  },
  'nobody enqueued a delivered message': {
    kinds: ['invention'],
    mutate: (changed) => {
      const delivery = changed.any('delivery', ({ outcome }) => outcome === 'ok');
      delivery?.messages.push({ message: 'nobody' });
      return delivery !== undefined;
    },
  },
  'the transaction of a delivered message failed': {
    kinds: ['invention'],
    mutate: (changed) => {
      const seen = new Set(
        changed.operations.flatMap((each) =>
          each.type === 'delivery' ? each.messages.map((m) => m.message) : [],
        ),
      );
      const transaction = changed.any('transaction', ({ enqueues }) =>
        enqueues.some((item) => seen.has(item.message)),
      );
      if (transaction !== undefined) transaction.outcome = 'fail';
      return transaction !== undefined;
    },
  },
  'a message is seen before its commit': {
    kinds: ['invention'],
    mutate: (changed) => {
      const delivery = changed.any('delivery', ({ messages }) => messages.length > 0);
      const name = delivery?.messages[0]?.message;
      const transaction = changed.any('transaction', ({ enqueues }) =>
        enqueues.some(({ message }) => message === name),
      );
      if (delivery === undefined || transaction === undefined) return false;
      delivery.start = 10;
      delivery.end = 11;
      return true;
    },
  },
  'a payload differs': {
    kinds: ['damage'],
    mutate: (changed) => {
      const delivery = changed.any('delivery', ({ messages }) => messages.length > 0);
      if (delivery !== undefined) delivery.messages[0]!.digest = 'other';
      return delivery !== undefined;
    },
  },
  'two messages of a session change places': {
    kinds: ['order'],
    mutate: (changed) => {
      const { messages } = changed.contentFor('plain', undefined);
      const delivered = new Set(
        changed.operations.flatMap((each) =>
          each.type === 'delivery' ? each.messages.map((m) => m.message) : [],
        ),
      );
      const sessionOf = new Map(
        changed.operations.flatMap((each) =>
          each.type === 'transaction'
            ? each.enqueues.map((item) => [item.message, each.session] as const)
            : [],
        ),
      );
      // A delivery whose answer was lost could explain the order.
      if (changed.any('delivery', ({ outcome, queue }) => outcome === 'unknown' && queue === 'plain'))
        return false;
      for (const [i, a] of messages.entries()) {
        for (const [j, b] of messages.entries()) {
          if (i >= j || sessionOf.get(a.message) !== sessionOf.get(b.message)) continue;
          if (delivered.has(a.message) || delivered.has(b.message)) continue;
          [messages[i], messages[j]] = [b, a];
          for (const each of changed.operations)
            if (each.type === 'inspection' && each !== changed.last) each.contents = [];
          return true;
        }
      }
      return false;
    },
  },
  'a transaction with an unknown outcome took effect in part': {
    kinds: ['torn', 'loss'],
    mutate: (changed) => {
      const { messages } = changed.contentFor('plain', undefined);
      const there = new Set(messages.map(({ message }) => message));
      for (const each of changed.operations) {
        if (each.type !== 'transaction' || each.outcome !== 'unknown') continue;
        for (const { message } of each.consumes) there.delete(message); // it may have been consumed
      }
      const transaction = changed.any(
        'transaction',
        ({ enqueues }) => enqueues.filter(({ message }) => there.has(message)).length > 1,
      );
      if (transaction === undefined) return false;
      Object.assign(transaction, { outcome: 'unknown', end: Number.POSITIVE_INFINITY });
      const name = transaction.enqueues.find(({ message }) => there.has(message))!.message;
      messages.splice(
        messages.findIndex(({ message }) => message === name),
        1,
      );
      return true;
    },
  },
  'branches of a global transaction differ': {
    kinds: ['agreement'],
    mutate: (changed) => {
      const one = changed.any('transaction', ({ outcome }) => outcome === 'ok');
      const other = changed.any('transaction', ({ outcome }) => outcome === 'fail');
      if (one === undefined || other === undefined) return false;
      one.global = 'g';
      other.global = 'g';
      return true;
    },
  },
  'a message is delivered before it is due': {
    kinds: ['early'],
    mutate: (changed) => {
      const delivery = changed.any('delivery', ({ messages }) => messages.length > 0);
      const name = delivery?.messages[0]?.message;
      for (const each of changed.operations) {
        if (each.type !== 'transaction') continue;
        const item = each.enqueues.find(({ message }) => message === name);
        if (item !== undefined) item.notBefore = delivery!.end + 5e6;
      }
      return delivery !== undefined;
    },
  },
  'a subscriber gets what is for another': {
    kinds: ['invention'],
    mutate: (changed) => {
      const delivery = changed.any(
        'delivery',
        ({ subscriber, messages }) => subscriber !== undefined && messages.length > 0,
      );
      const name = delivery?.messages[0]?.message;
      for (const each of changed.operations) {
        if (each.type !== 'transaction') continue;
        const item = each.enqueues.find(({ message }) => message === name);
        if (item !== undefined) item.recipients = ['nobody'];
      }
      return delivery !== undefined;
    },
  },
  'a released hold consumes': {
    kinds: ['stale'],
    mutate: (changed) => {
      const consumption = changed.consumption(
        ({ start, consumes: [part] }) => changed.deliveryOf(part!.delivery).end + 20 < start,
      );
      const part = consumption?.consumes[0];
      if (consumption === undefined || part === undefined) return false;
      const [start, end] = [consumption.start - 10, consumption.start - 5];
      const { process } = consumption;
      changed.operations.push({
        id: 'r',
        type: 'release',
        process,
        start,
        end,
        outcome: 'ok',
        deliveries: [part],
      });
      return true;
    },
  },
  'a lease has two holders': {
    kinds: ['exclusion'],
    mutate: ({ operations }) => {
      const lease = { type: 'lease', resource: 'r', outcome: 'ok' } as const;
      operations.push({ ...lease, id: 'a', process: 'a', start: 10, end: 30 });
      operations.push({ ...lease, id: 'b', process: 'b', start: 20, end: 40 });
      return true;
    },
  },
};

describe('a legal history', () => {
  it('passes', () => {
    let consumed = 0;
    fc.assert(
      fc.property(seeds, (seed) => {
        const verdict = checkHistory(new LegalHistory(seed, steps).operations);
        expect(verdict.violations, describeVerdict(verdict)).toEqual([]);
        consumed += verdict.consumed;
      }),
      { numRuns: 60 * times },
    );
    expect(consumed).toBeGreaterThan(1_000);
  });

  it.each(Object.entries(mutations))('fails when %s', (_, { kinds, mutate }) => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const changed = new Changed(seed);
        fc.pre(mutate(changed)); // if this history cannot be changed in this way, another one is drawn
        const found = checkHistory(changed.operations).violations.map(({ kind }) => kind);
        expect(
          found.some((kind) => kinds.includes(kind)),
          `found ${found.join(' ')}`,
        ).toBe(true);
      }),
      { numRuns: 10 * times },
    );
  });
});
