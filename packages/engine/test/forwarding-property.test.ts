/**
 * Two served instances under random commands: a dequeue on either instance gets the messages that are ready on both, each once and
 * each shard in commit order, and the counts of both instances add up.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type Instance,
  openInstance,
  type ServedInstance,
  type Session,
  serveInstance,
} from '../src/index.ts';
import { makeFolder } from './folder.ts';
import { isTorture } from './random.ts';

const queue = 'orders';
const indexes = [0, 1] as const;
/** An instance counts as having no consumer of a queue after this long without a dequeue. */
const forwardIdleMs = 20;

interface OpenInstance {
  instance: Instance;
  served: ServedInstance;
  session: Session;
}

class Real {
  readonly dir: string;
  readonly instances: OpenInstance[] = [];

  constructor(dir: string) {
    this.dir = dir;
  }

  async open(index: number): Promise<void> {
    const instance = await openInstance({ dir: this.dir, instance: index + 1, partitionMessagesMax: 5 });
    const served = await serveInstance(instance, { forwardIdleMs });
    this.instances[index] = { instance, served, session: instance.openSession() };
  }

  async close(index: number): Promise<void> {
    await this.instances[index]!.served.close();
    await this.instances[index]!.instance.close();
  }
}

/** Payloads are ascending numbers. Each instance has one shard, to which its session enqueues. */
class Model {
  nextPayload = 1;
  live = new Map<number, { shard: number; heldBy: number | undefined }>();
  consumed = 0;
  /** By shard, the messages that are committed and were never delivered, in order. */
  undelivered: number[][] = [[], []];
  deliveryCounts = new Map<number, number>();
  staged: number[][] = [[], []];
  taken: number[][] = [[], []];

  ready(): number[] {
    return [...this.live].filter(([, { heldBy }]) => heldBy === undefined).map(([payload]) => payload);
  }

  rollBack(index: number): void {
    for (const payload of this.taken[index]!) this.live.get(payload)!.heldBy = undefined;
    this.staged[index] = [];
    this.taken[index] = [];
  }
}

type Command = fc.AsyncCommand<Model, Real>;
const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const enqueue = (index: number, count: number) =>
  command(`enqueue(${index}, ${count})`, async (model, real) => {
    for (let i = 0; i < count; i += 1) {
      real.instances[index]!.session.enqueue(queue, { payload: String(model.nextPayload) });
      model.staged[index]!.push(model.nextPayload);
      model.nextPayload += 1;
    }
  });

const dequeue = (index: number, max: number) =>
  command(`dequeue(${index}, ${max})`, async (model, real) => {
    const isEmpty = model.ready().length === 0;
    const messages = await real.instances[index]!.session.dequeue(queue, {
      max,
      waitMs: isEmpty ? 10 : 10_000,
    });
    if (isEmpty) expect(messages).toEqual([]);
    else expect(messages.length, 'nothing is stuck').toBeGreaterThan(0);
    for (const { payload, deliveryCount } of messages) {
      const number = Number(payload.toString());
      const message = model.live.get(number);
      expect(message, `${number} is live`).toMatchObject({ heldBy: undefined });
      const before = model.deliveryCounts.get(number) ?? 0;
      if (before === 0)
        expect(number, 'first deliveries in order').toBe(model.undelivered[message!.shard]!.shift());
      expect(deliveryCount).toBe(before + 1);
      model.deliveryCounts.set(number, deliveryCount);
      message!.heldBy = index;
      model.taken[index]!.push(number);
    }
  });

const commit = (index: number) =>
  command(`commit(${index})`, async (model, real) => {
    const { ids } = await real.instances[index]!.session.commit();
    expect(ids).toHaveLength(model.staged[index]!.length);
    for (const payload of model.staged[index]!) {
      model.live.set(payload, { shard: index, heldBy: undefined });
      model.undelivered[index]!.push(payload);
    }
    for (const payload of model.taken[index]!) model.live.delete(payload);
    model.consumed += model.taken[index]!.length;
    model.staged[index] = [];
    model.taken[index] = [];
  });

const rollback = (index: number) =>
  command(`rollback(${index})`, async (model, real) => {
    await real.instances[index]!.session.rollback();
    model.rollBack(index);
  });

const reopen = (index: number) =>
  command(`reopen(${index})`, async (model, real) => {
    await real.close(index);
    await real.open(index);
    model.rollBack(index);
  });

/** Breaks the connections of an instance, and loses the messages in flight on them. */
const cut = (index: number) =>
  command(`cut(${index})`, async (_, real) => {
    await real.instances[index]!.served.close();
    real.instances[index]!.served = await serveInstance(real.instances[index]!.instance, { forwardIdleMs });
  });

/** Lets enough time pass for forwarded messages to return to their owner. */
const idle = command('idle', () => new Promise((resolve) => setTimeout(resolve, forwardIdleMs * 2)));

const count = command('count', async (model, real) => {
  const totals = () => {
    const sum = { enqueued: 0, consumed: 0, ready: 0, held: 0, forwardedIn: 0, forwardedOut: 0 };
    for (const { instance } of real.instances) {
      const { shards: _, ...counts } = instance.queue(queue);
      const { enqueued, forwardedIn, ready, held, delayed, consumed, forwardedOut } = counts;
      expect(enqueued + forwardedIn, `instance ${instance.id}`).toBe(
        ready + held + delayed + consumed + forwardedOut,
      );
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counts[key];
    }
    // A batch that arrived is counted on both instances until its sender has consumed it.
    return { ...sum, settled: sum.forwardedIn - sum.forwardedOut };
  };
  const ready = model.ready().length;
  await expect.poll(totals, { timeout: 10_000 }).toMatchObject({
    settled: 0,
    ready,
    held: model.live.size - ready,
    consumed: model.consumed,
    enqueued: model.live.size + model.consumed,
  });
});

const anyIndex = fc.constantFrom(...indexes);
const few = fc.integer({ min: 1, max: 12 });
const commands = [
  fc.tuple(anyIndex, few).map(([at, times]) => enqueue(at, times)),
  fc.tuple(anyIndex, few).map(([at, times]) => enqueue(at, times)),
  fc.tuple(anyIndex, few).map(([at, max]) => dequeue(at, max)),
  fc.tuple(anyIndex, few).map(([at, max]) => dequeue(at, max)),
  fc.tuple(anyIndex, few).map(([at, max]) => dequeue(at, max)),
  anyIndex.map(commit),
  anyIndex.map(commit),
  anyIndex.map(commit),
  anyIndex.map(rollback),
  anyIndex.map(reopen),
  anyIndex.map(cut),
  fc.constant(idle),
  fc.constant(count),
];

/** Dequeues everything that is left at one instance. */
const drain = (at: number) =>
  command(`drain(${at})`, async (model, real) => {
    while (model.ready().length > 0) {
      await dequeue(at, 7).run(model, real);
      await commit(at).run(model, real);
    }
  });

it('two instances that forward messages behave as a model of one queue', { timeout: 300_000 }, async () => {
  const dir = makeFolder();
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), anyIndex, async (run, last) => {
      round += 1;
      const real = new Real(`${dir}/${round}`);
      for (const index of indexes) await real.open(index);
      try {
        await real.instances[0]!.instance.createQueue({ name: queue, attemptsMax: null });
        const end = [...indexes.map(commit), drain(last), count];
        await fc.asyncModelRun(() => ({ model: new Model(), real }), [...run, ...end]);
      } finally {
        for (const index of indexes) await real.close(index);
      }
    }),
    { numRuns: isTorture ? 15 : 5 },
  );
});
