/** What the work of a client finds in systems that do not do as they should. */
import { WaitRecorder } from '@shardlab/engine';
import { describe, expect, it } from 'vitest';
import { PayloadCodec } from '../src/integrity/payload.ts';
import { CheckedDeliveries } from '../src/programs/completion/checked-deliveries.ts';
import { runCompletion } from '../src/programs/completion/completion-work.ts';
import { Enqueuers } from '../src/programs/completion/enqueuers.ts';
import { runFlowControl } from '../src/programs/completion/flow-control-work.ts';
import { integrityOf } from '../src/programs/counted-integrity.ts';
import { EnqueueRefused, type Producer, type QueueClient } from '../src/systems/driver/driver.ts';
import { open } from '../src/systems/null-system.ts';

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

/** The null system, with other producers. */
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
    'delivers all messages of several threads and queues, at once: %s',
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

  it('has no figures of a system that loses messages, and counts them', async () => {
    const context = await contextOf(everyTenth(async () => {}));
    expect(await runCompletion(work, context)).toMatchObject({ figures: {} });
    expect(await context.integrity()).toEqual({ ...whole, lost: 3 });
  });

  it('counts what is delivered twice, even where nothing seems to be missing', async () => {
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
    expect((await runFlowControl(flow, context)).figures).toEqual({
      accepted: 30,
      refused: 0,
      delivered: 30,
      acceptedAfterDrain: 1,
    });
    expect((await runFlowControl(flow, limited)).figures).toEqual({
      accepted: 20,
      refused: 10,
      delivered: 20,
      acceptedAfterDrain: 1,
    });
    expect(await limited.integrity()).toEqual(whole);
  });

  it('fails on any error that is no refusal', async () => {
    const context = await contextOf(() => ({ send: () => Promise.reject(new Error('disk')) }));
    await expect(runFlowControl({ kind: 'flow-control', attempts: 3 }, context)).rejects.toThrow('disk');
  });
});
