/**
 * Two served instances under random commands: whoever asks, and wherever, gets what is ready, of each shard in the order of
 * its commits, once; and the counts of both tell it all.
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

const queue = 'orders';
const sides = [0, 1] as const;
/** Consumers that have not called for this long are not there. */
const forwardIdleMs = 20;

interface Side {
  instance: Instance;
  served: ServedInstance;
  session: Session;
}

class Real {
  readonly dir: string;
  readonly sides: Side[] = [];

  constructor(dir: string) {
    this.dir = dir;
  }

  async open(side: number): Promise<void> {
    const instance = await openInstance({ dir: this.dir, instance: side + 1, partitionMessagesMax: 5 });
    const served = await serveInstance(instance, { forwardIdleMs });
    this.sides[side] = { instance, served, session: instance.openSession() };
  }

  async close(side: number): Promise<void> {
    await this.sides[side]!.served.close();
    await this.sides[side]!.instance.close();
  }
}

/** Payloads are numbers, counted up; each instance has one shard, to which its session enqueues. */
class Model {
  nextPayload = 1;
  live = new Map<number, { shard: number; heldBy: number | undefined }>();
  consumed = 0;
  /** By shard, what was committed and never delivered, in order. */
  undelivered: number[][] = [[], []];
  deliveryCounts = new Map<number, number>();
  staged: number[][] = [[], []];
  taken: number[][] = [[], []];

  ready(): number[] {
    return [...this.live].filter(([, { heldBy }]) => heldBy === undefined).map(([payload]) => payload);
  }

  rollBack(side: number): void {
    for (const payload of this.taken[side]!) this.live.get(payload)!.heldBy = undefined;
    this.staged[side] = [];
    this.taken[side] = [];
  }
}

type Command = fc.AsyncCommand<Model, Real>;
const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const enqueue = (side: number, count: number) =>
  command(`enqueue(${side}, ${count})`, async (model, real) => {
    for (let i = 0; i < count; i += 1) {
      real.sides[side]!.session.enqueue(queue, { payload: String(model.nextPayload) });
      model.staged[side]!.push(model.nextPayload);
      model.nextPayload += 1;
    }
  });

const dequeue = (side: number, max: number) =>
  command(`dequeue(${side}, ${max})`, async (model, real) => {
    const isEmpty = model.ready().length === 0;
    const messages = await real.sides[side]!.session.dequeue(queue, { max, waitMs: isEmpty ? 10 : 10_000 });
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
      message!.heldBy = side;
      model.taken[side]!.push(number);
    }
  });

const commit = (side: number) =>
  command(`commit(${side})`, async (model, real) => {
    const { ids } = await real.sides[side]!.session.commit();
    expect(ids).toHaveLength(model.staged[side]!.length);
    for (const payload of model.staged[side]!) {
      model.live.set(payload, { shard: side, heldBy: undefined });
      model.undelivered[side]!.push(payload);
    }
    for (const payload of model.taken[side]!) model.live.delete(payload);
    model.consumed += model.taken[side]!.length;
    model.staged[side] = [];
    model.taken[side] = [];
  });

const rollback = (side: number) =>
  command(`rollback(${side})`, async (model, real) => {
    await real.sides[side]!.session.rollback();
    model.rollBack(side);
  });

const reopen = (side: number) =>
  command(`reopen(${side})`, async (model, real) => {
    await real.close(side);
    await real.open(side);
    model.rollBack(side);
  });

/** Connections to and from it are lost, whatever is on its way. */
const cut = (side: number) =>
  command(`cut(${side})`, async (_, real) => {
    await real.sides[side]!.served.close();
    real.sides[side]!.served = await serveInstance(real.sides[side]!.instance, { forwardIdleMs });
  });

/** Long enough for what was forwarded to go home. */
const idle = command('idle', () => new Promise((resolve) => setTimeout(resolve, forwardIdleMs * 2)));

const count = command('count', async (model, real) => {
  const totals = () => {
    const sum = { enqueued: 0, consumed: 0, ready: 0, held: 0, movedIn: 0, movedOut: 0 };
    for (const { instance } of real.sides) {
      const { shards: _, ...counts } = instance.queue(queue);
      const { enqueued, movedIn, ready, held, delayed, consumed, movedOut } = counts;
      expect(enqueued + movedIn, `instance ${instance.id}`).toBe(
        ready + held + delayed + consumed + movedOut,
      );
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counts[key];
    }
    // A batch that arrived is counted at both ends until its giver has let go of it.
    return { ...sum, settled: sum.movedIn - sum.movedOut };
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

const side = fc.constantFrom(...sides);
const few = fc.integer({ min: 1, max: 12 });
const commands = [
  fc.tuple(side, few).map(([at, times]) => enqueue(at, times)),
  fc.tuple(side, few).map(([at, times]) => enqueue(at, times)),
  fc.tuple(side, few).map(([at, max]) => dequeue(at, max)),
  fc.tuple(side, few).map(([at, max]) => dequeue(at, max)),
  fc.tuple(side, few).map(([at, max]) => dequeue(at, max)),
  side.map(commit),
  side.map(commit),
  side.map(commit),
  side.map(rollback),
  side.map(reopen),
  side.map(cut),
  fc.constant(idle),
  fc.constant(count),
];

/** All that is left can be had from either. */
const drain = (at: number) =>
  command(`drain(${at})`, async (model, real) => {
    while (model.ready().length > 0) {
      await dequeue(at, 7).run(model, real);
      await commit(at).run(model, real);
    }
  });

it('two instances that forward agree with a model of one queue', { timeout: 300_000 }, async () => {
  const dir = makeFolder();
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), side, async (run, last) => {
      round += 1;
      const real = new Real(`${dir}/${round}`);
      for (const each of sides) await real.open(each);
      try {
        await real.sides[0]!.instance.createQueue({ name: queue });
        const end = [...sides.map(commit), drain(last), count];
        await fc.asyncModelRun(() => ({ model: new Model(), real }), [...run, ...end]);
      } finally {
        for (const each of sides) await real.close(each);
      }
    }),
    { numRuns: 15 },
  );
});
