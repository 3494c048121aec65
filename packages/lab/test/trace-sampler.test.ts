/** The traces that a trial keeps of a few messages: which messages, how long their events are read, and how losses are counted. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SampledTrace, type SampledTraces, sampledTraceLimits } from '@shardlab/contract';
import { type Instance, type MessageEvent, type MessageTrace, openInstance } from '@shardlab/engine';
import { planRun } from '@shardlab/lab';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { mergeSampledTraces, TraceSampler } from '../src/meters/trace-sampler.ts';
import { runTrial } from '../src/programs/queue/trial/run-trial.ts';
import { smallScenario } from './support.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** A sampler on an instance that traces only messages for which a test asks. */
async function withQueue(subscribers: readonly string[] = []) {
  const open = async () => {
    const opened = await openInstance({ dir, traceEvery: 0 });
    onTestFinished(() => opened.close());
    return opened;
  };
  const served: { instance: Instance } = { instance: await open() };
  const type = subscribers.length > 0 ? 'topic' : 'queue';
  await served.instance.createQueue({ name: 'q', shards: 1, type });
  for (const name of subscribers) await served.instance.subscribe('q', { name });
  const sampler = new TraceSampler({
    traces: {
      messageTrace: (queue, id) => served.instance.messageTrace(queue, id),
      tracedMessages: (queue, options) => served.instance.tracedMessages(queue, options),
    },
    queue: 'q',
    consumers: Math.max(1, subscribers.length),
  });
  const put = async () => {
    served.instance.traceNext('q');
    const session = served.instance.openSession();
    session.enqueue('q', { payload: 'a' });
    const { ids } = await session.commit();
    await session.close();
    return ids[0]!;
  };
  const take = async (subscriber?: string) => {
    const session = served.instance.openSession();
    await session.dequeue('q', subscriber === undefined ? {} : { subscriber });
    await session.commit();
    await session.close();
  };
  const reopen = async () => {
    await served.instance.close();
    served.instance = await open();
  };
  return { served, sampler, put, take, reopen };
}

const kinds = ({ events }: SampledTrace) => events.map(({ event }) => event);
const always = 0;

describe('a sampler', () => {
  it('chooses the message with the latest event, and reads its events until it is consumed', async () => {
    const { sampler, put, take } = await withQueue();
    await put();
    const id = await put();
    await sampler.sample(always);
    expect(sampler.report()).toEqual({ messages: [], lost: 1 });
    await sampler.read();
    const [waiting] = sampler.report().messages;
    expect(waiting).toMatchObject({
      id,
      coverage: 'complete',
      endToEndMs: null,
      whereabouts: [{ state: 'ready', reason: 'behind-others', ahead: 1 }],
    });
    await take();
    await take();
    await sampler.read();
    const { messages, lost } = sampler.report();
    expect([messages.length, lost]).toEqual([1, 0]);
    const [consumed] = messages;
    expect(kinds(consumed!)).toEqual(['enqueued', 'grouped', 'committed', 'cached', 'delivered', 'consumed']);
    const [first, last] = [consumed!.events[0]!, consumed!.events.at(-1)!];
    expect(consumed!.endToEndMs).toBeCloseTo(last.atMs - first.atMs, 2);
    expect(consumed!.whereabouts).toEqual([]);
  });

  it('chooses no message from before its window, and none twice', async () => {
    const { sampler, put } = await withQueue();
    await sampler.sample(always);
    await put();
    await sampler.sample(Date.now() + 60_000);
    expect(sampler.report()).toEqual({ messages: [], lost: 0 });
    await sampler.sample(always);
    await sampler.sample(always);
    await sampler.read();
    expect(sampler.report()).toMatchObject({ messages: [{ coverage: 'complete' }], lost: 0 });
  });

  it('follows the message of a topic until every subscriber has consumed it', async () => {
    const { sampler, put, take } = await withQueue(['audit', 'billing']);
    await put();
    await sampler.sample(always);
    await take('audit');
    await sampler.read();
    expect(sampler.report().messages).toMatchObject([
      { endToEndMs: null, whereabouts: [{ subscriber: 'billing', state: 'ready' }] },
    ]);
    await take('billing');
    await sampler.read();
    expect(sampler.report().messages).toMatchObject([
      { endToEndMs: expect.any(Number), whereabouts: [], eventsLeftOut: 0 },
    ]);
  });

  it('measures a forwarded message until its consumption on the other instance, not until it left its own', async () => {
    const at = (event: MessageEvent['event'], instance: number, atMs: number): MessageEvent => {
      return { event, instance, atMs, shard: 100, seq: 512, partition: 1 };
    };
    const events = [
      at('enqueued', 1, 100),
      at('committed', 1, 101),
      at('received', 2, 102),
      at('forwarded', 1, 104),
      at('consumed', 2, 105),
      at('consumed', 1, 109),
    ];
    const trace = (known: number): MessageTrace => {
      const [queue, id] = ['q', '100.512'];
      return {
        queue,
        id,
        events: events.slice(0, known),
        coverage: 'complete',
        whereabouts: [],
        recorders: [],
      };
    };
    const endToEndMs = async (known: number) => {
      const traces = {
        messageTrace: async () => trace(known),
        tracedMessages: () => [{ id: '100.512', instance: 1, event: 'consumed' as const, atMs: 109 }],
      };
      const sampler = new TraceSampler({ traces, queue: 'q', consumers: 1 });
      await sampler.sample(always);
      await sampler.read();
      return sampler.report().messages[0]!.endToEndMs;
    };
    expect(await endToEndMs(4)).toBeNull();
    expect(await endToEndMs(5)).toBe(5);
    expect(await endToEndMs(6)).toBe(5);
  });

  it('keeps a bounded number of events of a message with many subscribers, and counts those left out', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `s${index}`);
    const { sampler, put, take } = await withQueue(names);
    await put();
    await sampler.sample(always);
    await sampler.read();
    const [waiting] = sampler.report().messages;
    expect(waiting!.whereabouts).toHaveLength(sampledTraceLimits.whereaboutsMax);
    for (const name of names) await take(name);
    await sampler.read();
    const [consumed] = sampler.report().messages;
    expect(consumed!.events).toHaveLength(sampledTraceLimits.eventsMax);
    // There are three events of each subscriber, and three of the message itself.
    expect(consumed!.eventsLeftOut).toBe(3 + 3 * names.length - sampledTraceLimits.eventsMax);
    expect(consumed!.endToEndMs).toBeGreaterThan(0);
  });

  it('keeps the events that it has read when the instance ends, and counts messages that it could not read', async () => {
    const { served, sampler, put, reopen } = await withQueue();
    const read = await put();
    await sampler.sample(always);
    await sampler.read();
    await put();
    await sampler.sample(always);
    await served.instance.close();
    await sampler.sample(always);
    expect(sampler.report()).toMatchObject({ messages: [{ id: read }], lost: 1 });
    await reopen();
    await sampler.read();
    expect(sampler.report()).toMatchObject({ messages: [{ id: read, coverage: 'complete' }], lost: 1 });
  });
});

describe('what several instances kept', () => {
  const trace = (id: string, atMs: number, events = 1): SampledTrace => ({
    id,
    endToEndMs: null,
    coverage: 'partial',
    overwritten: 0,
    events: Array.from({ length: events }, (_, index) => ({
      event: 'committed',
      atMs: atMs + index,
      instance: 1,
      shard: 100,
      seq: 1,
      partition: 1,
    })),
    eventsLeftOut: 0,
    whereabouts: [],
  });
  const ids = ({ messages }: SampledTraces) => messages.map(({ id }) => id);

  it('is merged in the order of time, and a message that two of them have is kept once, with the most events', () => {
    const merged = mergeSampledTraces([
      { messages: [trace('late', 9), trace('both', 5)], lost: 1 },
      { messages: [trace('both', 5, 3), trace('early', 1)], lost: 2 },
    ]);
    expect(ids(merged)).toEqual(['early', 'both', 'late']);
    expect(merged.messages[1]!.events).toHaveLength(3);
    expect(merged.lost).toBe(3);
  });

  it('is thinned out evenly to the number of messages that a trial keeps', () => {
    const report = (first: number): SampledTraces => ({
      messages: Array.from({ length: 8 }, (_, index) => trace(`${first + 2 * index}`, first + 2 * index)),
      lost: 0,
    });
    expect(ids(mergeSampledTraces([report(0), report(1)]))).toEqual(
      ['0', '2', '4', '6', '8', '10', '12', '14'].slice(0, sampledTraceLimits.messagesMax),
    );
    expect(mergeSampledTraces([])).toEqual({ messages: [], lost: 0 });
  });
});

describe('a trial', () => {
  /** A small trial. Its transactions are large enough that even on a slow machine the first two contain a traced message. */
  async function trialOf(system: string) {
    const scenario = smallScenario({
      systems: [system],
      parameters: { operationsPerTransaction: 400, backlogMax: 2_000 },
      sweep: { instances: [1], threads: [1] },
      phases: { warmupMs: 0, measureMs: 500, drainMs: 5_000 },
    });
    const { trials, phases } = planRun(scenario, 'full');
    return runTrial({ trial: trials[0]!, scenario, phases, dir: join(dir, 'trial') });
  }

  it('of a sharded queue has the traces of some of its messages, from the enqueue to the consumption', async () => {
    const { traces } = await trialOf('sharded');
    const { messages } = traces!;
    expect(messages.length).toBeGreaterThan(0);
    expect(messages.length).toBeLessThanOrEqual(sampledTraceLimits.messagesMax);
    for (const message of messages) {
      expect(kinds(message).slice(0, 3)).toEqual(['enqueued', 'grouped', 'committed']);
      expect(kinds(message)).toContain('consumed');
      expect(message.endToEndMs).toBeGreaterThan(0);
    }
    expect(traces!.lost).toBe(0);
  });

  it('of an unsharded queue, whose messages are not traced, has none', async () => {
    expect((await trialOf('unsharded')).traces).toBeUndefined();
  });
});
