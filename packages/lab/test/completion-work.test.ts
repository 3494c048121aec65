/** The checks that the client's work makes find systems that lose, double, damage or reorder messages. */
import { WaitRecorder } from '@shardlab/engine';
import { describe, expect, it } from 'vitest';
import type { Interval } from '../src/integrity/delivery-spans.ts';
import { mergeLedgers } from '../src/integrity/ledger.ts';
import { PayloadCodec } from '../src/integrity/payload.ts';
import { CheckedDeliveries } from '../src/programs/completion/checked-deliveries.ts';
import { runCompletion } from '../src/programs/completion/completion-work.ts';
import { Enqueuers } from '../src/programs/completion/enqueuers.ts';
import { runFlowControl } from '../src/programs/completion/flow-control-work.ts';
import { integrityOf } from '../src/programs/counted-integrity.ts';
import { timeContradiction } from '../src/programs/queue/points/contradiction.ts';
import { sessionTimeFigures } from '../src/programs/session-time-figures.ts';
import { EnqueueRefused, type Producer, type QueueClient } from '../src/systems/driver/driver.ts';
import { open } from '../src/systems/null-system.ts';
import type { System } from '../src/systems/system.ts';

const whole = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };
const codec = new PayloadCodec({ bytes: 64, seed: 1, nonce: 1 });
const options = {
  dir: '',
  endpoints: [],
  durability: '',
  process: 1,
  createsQueue: true,
  enqueuers: 1,
  dequeuers: 1,
  operations: 1,
  subscribers: 0,
  emulatedSyncMs: 0,
};

/** A context of the null system, whose producers `change` may replace. */
async function contextOf(change: (producer: Producer) => Producer = (producer) => producer, threads = 1) {
  const book = new WaitRecorder({ clock: { monotonicMs: () => performance.now() } });
  const client: QueueClient = await open({ ...options, queues: threads });
  const deliveries = new CheckedDeliveries(codec, threads, 'consumer');
  const producers: Producer[] = [];
  for (let each = 0; each < threads; each += 1) producers.push(change(await client.openProducer(book)));
  const enqueuers = new Enqueuers({ producers, codec, ledger: deliveries.ledger, book });
  const integrity = async () => integrityOf([deliveries.ledger.report()], await client.depth(0));
  return { client, book, deliveries, enqueuers, drainMs: 100, serverPids: [], integrity };
}

const work = {
  kind: 'completion',
  messages: 30,
  threads: 1,
  atOnce: false,
  warmupMs: 0,
  measureMs: 0,
} as const;

/** Calls `act` instead of sending every tenth message. */
function everyTenth(act: (producer: Producer, payload: Buffer) => Promise<void>) {
  let calls = 0;
  return (producer: Producer): Producer => ({
    async send([payload]) {
      calls += 1;
      if (calls % 10 === 0) await act(producer, payload!);
      else await producer.send([payload!]);
    },
  });
}

describe('run to completion', () => {
  it.each([false, true])(
    'delivers all messages of several threads and queues, with enqueuers and dequeuers at once: %s',
    async (atOnce) => {
      const context = await contextOf(undefined, 3);
      const { figures } = await runCompletion({ ...work, threads: 3, messages: 100, atOnce }, context);
      expect(await context.integrity()).toEqual(whole);
      expect(context.deliveries.count).toBe(100);
      expect(Object.keys(figures).sort()).toEqual([
        'clientCpuUsPerMessage',
        'dequeuePerSec',
        'elapsedMs',
        'enqueuePerSec',
        'serverCpuUsPerMessage',
        ...sessionTimeFigures.map(({ name }) => name).sort(),
      ]);
      expect(figures.enqueuePerSec).toBeGreaterThan(0);
    },
  );

  it('repeats whole cycles and warms up with the same ledger', async () => {
    const context = await contextOf();
    await runCompletion({ ...work, warmupMs: 5, measureMs: 5 }, context);
    expect(await context.integrity()).toEqual(whole);
    expect(context.deliveries.count).toBeGreaterThan(work.messages);
    expect(context.deliveries.count % work.messages).toBe(0);
  });

  it('counts lost messages and has no figures of a system that loses some', async () => {
    const context = await contextOf(everyTenth(async () => {}));
    expect(await runCompletion(work, context)).toMatchObject({ figures: {} });
    expect(await context.integrity()).toEqual({ ...whole, lost: 3 });
  });

  it('counts messages that are delivered twice, even if the total is right', async () => {
    const context = await contextOf(everyTenth((producer, payload) => producer.send([payload, payload])));
    await runCompletion(work, context);
    const { duplicated, lost } = await context.integrity();
    expect({ duplicated, lost }).toEqual({ duplicated: 3, lost: 0 });
  });

  it('counts damaged messages', async () => {
    const context = await contextOf(
      everyTenth((producer, payload) => {
        payload[40]! ^= 1;
        return producer.send([payload]);
      }),
    );
    await runCompletion(work, context);
    expect((await context.integrity()).damaged).toBe(3);
  });

  it('counts messages out of order', async () => {
    const late: Buffer[] = [];
    const context = await contextOf((producer) => ({
      async send([payload]) {
        late.push(payload!);
        if (late.length === 2) await producer.send(late.splice(0).reverse());
      },
    }));
    await runCompletion(work, context);
    expect(await context.integrity()).toEqual({ ...whole, outOfOrder: 15 });
  });
});

describe('flow control', () => {
  it('counts accepted, refused and delivered messages, and what is accepted after the drain', async () => {
    const context = await contextOf();
    const limited = await contextOf((producer) => ({
      async send(payloads) {
        if ((await limited.client.depth(0)) >= 20) throw new EnqueueRefused('FULL', null);
        await producer.send(payloads);
      },
    }));
    const flow = { kind: 'flow-control', attempts: 30 } as const;
    expect((await runFlowControl(flow, context)).figures).toMatchObject({
      accepted: 30,
      refused: 0,
      delivered: 30,
      acceptedAfterDrain: 1,
    });
    expect((await runFlowControl(flow, limited)).figures).toMatchObject({
      accepted: 20,
      refused: 10,
      delivered: 20,
      acceptedAfterDrain: 1,
    });
    expect(await limited.integrity()).toEqual(whole);
  });

  it('fails on any error other than a refusal', async () => {
    const context = await contextOf(() => ({ send: () => Promise.reject(new Error('disk')) }));
    await expect(runFlowControl({ kind: 'flow-control', attempts: 3 }, context)).rejects.toThrow('disk');
  });
});

describe('the order of deliveries', () => {
  const deliver = (deliveries: CheckedDeliveries, consumer: number, sequence: number, call: Interval) =>
    deliveries.delivered(codec.make({ enqueuer: 0, sequence, sentAtMs: 1 }), consumer, 1, call);

  it('of an unsharded queue is that of the queue, whichever consumer asks', () => {
    const outOfOrder = (order: System['order']) => {
      const deliveries = new CheckedDeliveries(codec, 2, order);
      deliver(deliveries, 0, 1, { fromMs: 1, toMs: 2 });
      deliver(deliveries, 1, 0, { fromMs: 3, toMs: 4 }); // This message was ready when the later one was delivered.
      deliver(deliveries, 0, 2, { fromMs: 5, toMs: 6 });
      return mergeLedgers([deliveries.ledger.report()]).outOfOrder;
    };
    expect(outOfOrder('queue')).toBe(1);
    expect(outOfOrder('consumer')).toBe(0);
  });

  it('is not checked between calls that overlap in time', () => {
    const deliveries = new CheckedDeliveries(codec, 2, 'queue');
    deliver(deliveries, 0, 1, { fromMs: 1, toMs: 3 });
    deliver(deliveries, 1, 0, { fromMs: 2, toMs: 4 });
    expect(mergeLedgers([deliveries.ledger.report()]).outOfOrder).toBe(0);
  });

  it('is checked among the messages that one call redelivers, and not between such calls', () => {
    const deliveries = new CheckedDeliveries(codec, 1, 'consumer');
    const again = (sequence: number) =>
      deliveries.delivered(codec.make({ enqueuer: 0, sequence, sentAtMs: 1 }), 0, 2);
    for (const sequence of [0, 1, 2]) deliver(deliveries, 0, sequence, { fromMs: 1, toMs: 2 });
    deliveries.redelivered([again(1)]);
    deliveries.redelivered([again(0)]);
    expect(deliveries.ledger.report().outOfOrder).toBe(0);
    deliveries.redelivered([again(2), again(0)]);
    expect(deliveries.ledger.report().outOfOrder).toBe(1);
  });
});

describe('the time of sessions', () => {
  const late = () => new Promise<void>((resolve) => setTimeout(resolve, 2));

  it('is spent in a server call from sending to the answer, and in waiting for work while others work', async () => {
    const context = await contextOf((producer) => ({
      send: (payloads) => late().then(() => producer.send(payloads)),
    }));
    const { figures, waits } = await runCompletion({ ...work, messages: 20 }, context);
    const waited = (event: string) => waits.find((each) => each.event === event)!;
    expect(waited('server call').waits).toBe(20);
    expect(waited('waiting for work').totalMs).toBeGreaterThan(0);
    expect(Math.abs(figures.timeAccounted! - 1)).toBeLessThan(0.05);
  });

  it('is not fully accounted for if a driver awaits something without naming a wait event', async () => {
    const context = await contextOf((producer) => ({
      ...producer,
      send: (payloads) => late().then(() => producer.send(payloads)),
    }));
    const { figures } = await runCompletion({ ...work, messages: 20 }, context);
    expect(figures.timeAccounted).toBeLessThan(0.95);
    expect(timeContradiction([figures.timeAccounted!])).toMatch(/time books of its sessions explain/);
  });
});
