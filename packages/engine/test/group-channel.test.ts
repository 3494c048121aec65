/** The writer receives each group as it was sent, whether through shared memory or as a posted message. */
import { MessageChannel, Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import type { Group } from '../src/model/group-message.ts';
import { nodePorts } from '../src/node-ports.ts';
import {
  createGroupChannelMemory,
  GroupReceiver,
  GroupSender,
} from '../src/storage/threads/writer-channel.ts';

function setUp() {
  const memory = createGroupChannelMemory();
  const { port1, port2 } = new MessageChannel();
  let posted = 0;
  const sender = new GroupSender(memory, (group) => {
    posted += 1;
    port1.postMessage(group);
  });
  const receiver = new GroupReceiver(memory, port2, nodePorts.clock);
  return { sender, receiver, posted: () => posted, close: () => port1.close() };
}

const groupOf = (changes: Partial<Group>): Group => ({
  kind: 'group',
  groupNumber: 2 ** 32 + 1,
  generation: 0,
  sync: 'FULL',
  buffer: new SharedArrayBuffer(64),
  blocks: [],
  consumptionDeltas: [],
  outcomes: { offset: 0, length: 0, retiredThroughGroup: 0 },
  tableWrites: [],
  sqlTransactions: [],
  poolChanges: { create: [], assign: [], truncate: [] },
  ...changes,
});

const natural = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const anyGroup = fc.record({
  groupNumber: natural,
  generation: fc.nat(),
  sync: fc.constantFrom('FULL' as const, 'NORMAL' as const),
  blocks: fc.array(
    fc.record({ partition: natural, firstSeq: natural, count: natural, offset: fc.nat(), length: fc.nat() }),
  ),
  consumptionDeltas: fc.array(
    fc.record({ partition: natural, subscriber: fc.nat(), offset: fc.nat(), length: fc.nat() }),
  ),
  outcomes: fc.record({ offset: fc.nat(), length: fc.nat(), retiredThroughGroup: fc.nat() }),
  poolChanges: fc.record({
    create: fc.array(fc.nat(), { maxLength: 1 }),
    assign: fc.array(
      fc.record({
        partition: fc.nat(),
        queueId: fc.nat(),
        shard: fc.nat(),
        firstSeq: natural,
        hasCorrelationIndex: fc.boolean(),
      }),
      { maxLength: 1 },
    ),
    truncate: fc.array(fc.nat(), { maxLength: 1 }),
  }),
});

describe('the channel of groups', () => {
  it('delivers every group unchanged and in order', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyGroup, fc.nat({ max: 20 })), { maxLength: 40 }), (sends) => {
        const { sender, receiver, close } = setUp();
        const buffers = Array.from({ length: 21 }, (_, index) => new SharedArrayBuffer(64 + index));
        for (const [parts, buffer] of sends) {
          const group = groupOf({ ...parts, buffer: buffers[buffer]! });
          sender.send(group);
          const received = receiver.next() as Group;
          expect({ ...received, buffer: undefined }).toEqual({ ...group, buffer: undefined });
          expect(received.buffer.byteLength).toBe(group.buffer.byteLength);
        }
        close();
      }),
    );
  });

  it('posts a group as a message only if its buffer is new or a slot cannot hold all of it', () => {
    const { sender, receiver, posted, close } = setUp();
    const buffer = new SharedArrayBuffer(64);
    const block = { partition: 1, firstSeq: 1, count: 1, offset: 0, length: 1 };
    const send = (changes: Partial<Group>) => {
      const before = posted();
      sender.send(groupOf({ buffer, ...changes }));
      receiver.next();
      return posted() - before;
    };
    expect(send({})).toBe(1);
    expect(send({ blocks: [block] })).toBe(0);
    expect(send({ blocks: Array(limits.groupEntriesMax).fill(block) })).toBe(0);
    expect(send({ blocks: Array(limits.groupEntriesMax + 1).fill(block) })).toBe(1);
    expect(send({ poolChanges: { create: [], assign: [], truncate: [7] } })).toBe(1);
    expect(send({ buffer: new SharedArrayBuffer(128) })).toBe(1);
    expect(send({})).toBe(0);
    close();
  });

  it('has room for the maximum of groups in flight and the request to close', () => {
    const { sender, receiver, close } = setUp();
    for (let groupNumber = 1; groupNumber <= limits.groupsInFlightMax; groupNumber += 1)
      sender.send(groupOf({ groupNumber }));
    sender.send({ kind: 'close' });
    for (let groupNumber = 1; groupNumber <= limits.groupsInFlightMax; groupNumber += 1)
      expect(receiver.next()).toMatchObject({ groupNumber });
    expect(receiver.next()).toEqual({ kind: 'close' });
    close();
  });

  /** A thread that receives groups and answers with the number of each. */
  function receiverThread() {
    const memory = createGroupChannelMemory();
    const worker = new Worker(
      `import { parentPort, workerData } from 'node:worker_threads';
       const { GroupReceiver } = await import(workerData.module);
       const receiver = new GroupReceiver(workerData.memory, parentPort, { monotonicMs: () => performance.now(), epochMs: () => Date.now() });
       for (let request = receiver.next(); request.kind !== 'close'; request = receiver.next()) {
         parentPort.postMessage(request.groupNumber);
       }`,
      {
        eval: true,
        workerData: {
          memory,
          module: new URL('../src/storage/threads/writer-channel.ts', import.meta.url).href,
        },
      },
    );
    const sender = new GroupSender(memory, (group) => worker.postMessage(group));
    return { worker, sender, control: new Int32Array(memory) };
  }

  it('wakes a receiver that sleeps', async () => {
    const { worker, sender, control } = receiverThread();
    const answers = new Map<number, () => void>();
    worker.on('message', (groupNumber: number) => answers.get(groupNumber)!());
    const buffer = new SharedArrayBuffer(64);
    for (let groupNumber = 1; groupNumber <= 20; groupNumber += 1) {
      // Half of the groups find the receiver asleep, and half follow at once.
      while (groupNumber % 2 === 0 && Atomics.load(control, 1) === 0) await new Promise(setImmediate);
      const { promise, resolve } = Promise.withResolvers<void>();
      answers.set(groupNumber, resolve);
      sender.send(groupOf({ groupNumber, buffer }));
      await promise;
    }
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    sender.send({ kind: 'close' });
    expect(await ended).toBe(0);
  });

  it('lets a receiver sleep again after a wake-up for a request that it has already taken', async () => {
    const { worker, sender, control } = receiverThread();
    const answered: number[] = [];
    worker.on('message', (groupNumber: number) => answered.push(groupNumber));
    const buffer = new SharedArrayBuffer(64);
    for (let groupNumber = 1; groupNumber <= 5; groupNumber += 1) {
      sender.send(groupOf({ groupNumber, buffer }));
      // Wakes the receiver late, like a sender that was preempted between writing the request and the wake-up.
      while (Atomics.notify(control, 0) === 0 || answered.length < groupNumber)
        await new Promise(setImmediate);
    }
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    sender.send({ kind: 'close' });
    await ended;
    expect(answered).toEqual([1, 2, 3, 4, 5]);
  });
});
