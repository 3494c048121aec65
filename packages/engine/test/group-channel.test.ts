/** Groups on their way to the writer: what is received is what was sent, whichever way it took. */
import { MessageChannel, Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../src/core/limits.ts';
import { createChannelMemory, GroupReceiver, GroupSender } from '../src/storage/group-channel.ts';
import type { Group } from '../src/storage/group-message.ts';

function setUp() {
  const memory = createChannelMemory();
  const { port1, port2 } = new MessageChannel();
  let posted = 0;
  const sender = new GroupSender(memory, (group) => {
    posted += 1;
    port1.postMessage(group);
  });
  const receiver = new GroupReceiver(memory, port2);
  return { sender, receiver, posted: () => posted, close: () => port1.close() };
}

const groupOf = (changes: Partial<Group>): Group => ({
  kind: 'group',
  no: 2 ** 32 + 1,
  generation: 0,
  sync: 'FULL',
  buffer: new SharedArrayBuffer(64),
  blocks: [],
  deltas: [],
  outcomes: { offset: 0, length: 0, retired: 0 },
  side: [],
  sql: [],
  pool: { create: [], assign: [], truncate: [] },
  ...changes,
});

const natural = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const anyGroup = fc.record({
  no: natural,
  generation: fc.nat(),
  sync: fc.constantFrom('FULL' as const, 'NORMAL' as const),
  blocks: fc.array(
    fc.record({ partition: natural, firstSeq: natural, count: natural, offset: fc.nat(), length: fc.nat() }),
  ),
  deltas: fc.array(
    fc.record({ partition: natural, subscriber: fc.nat(), offset: fc.nat(), length: fc.nat() }),
  ),
  outcomes: fc.record({ offset: fc.nat(), length: fc.nat(), retired: fc.nat() }),
  pool: fc.record({
    create: fc.array(fc.nat(), { maxLength: 1 }),
    assign: fc.array(
      fc.record({
        partition: fc.nat(),
        queueId: fc.nat(),
        shard: fc.nat(),
        firstSeq: natural,
        indexed: fc.boolean(),
      }),
      { maxLength: 1 },
    ),
    truncate: fc.array(fc.nat(), { maxLength: 1 }),
  }),
});

describe('the channel of groups', () => {
  it('brings every group as it was sent, in order', () => {
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

  it('posts a group only if its buffer is new, or if it says more than a slot holds', () => {
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
    expect(send({ pool: { create: [], assign: [], truncate: [7] } })).toBe(1);
    expect(send({ buffer: new SharedArrayBuffer(128) })).toBe(1);
    expect(send({})).toBe(0);
    close();
  });

  it('holds as many groups as may be in flight, and the order to close', () => {
    const { sender, receiver, close } = setUp();
    for (let no = 1; no <= limits.groupsInFlightMax; no += 1) sender.send(groupOf({ no }));
    sender.send({ kind: 'close' });
    for (let no = 1; no <= limits.groupsInFlightMax; no += 1) expect(receiver.next()).toMatchObject({ no });
    expect(receiver.next()).toEqual({ kind: 'close' });
    close();
  });

  /** A thread that receives, and answers the number of each group. */
  function receiverThread() {
    const memory = createChannelMemory();
    const worker = new Worker(
      `import { parentPort, workerData } from 'node:worker_threads';
       const { GroupReceiver } = await import(workerData.module);
       const receiver = new GroupReceiver(workerData.memory, parentPort);
       for (let request = receiver.next(); request.kind !== 'close'; request = receiver.next()) {
         parentPort.postMessage(request.no);
       }`,
      {
        eval: true,
        workerData: { memory, module: new URL('../src/storage/group-channel.ts', import.meta.url).href },
      },
    );
    const sender = new GroupSender(memory, (group) => worker.postMessage(group));
    return { worker, sender, control: new Int32Array(memory) };
  }

  it('wakes a receiver that sleeps', async () => {
    const { worker, sender, control } = receiverThread();
    const answers = new Map<number, () => void>();
    worker.on('message', (no: number) => answers.get(no)!());
    const buffer = new SharedArrayBuffer(64);
    for (let no = 1; no <= 20; no += 1) {
      // Half of them find it asleep, half of them follow at once.
      while (no % 2 === 0 && Atomics.load(control, 1) === 0) await new Promise(setImmediate);
      const { promise, resolve } = Promise.withResolvers<void>();
      answers.set(no, resolve);
      sender.send(groupOf({ no, buffer }));
      await promise;
    }
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    sender.send({ kind: 'close' });
    expect(await ended).toBe(0);
  });

  it('sleeps on when it is woken for a request that it has taken already', async () => {
    const { worker, sender, control } = receiverThread();
    const answered: number[] = [];
    worker.on('message', (no: number) => answered.push(no));
    const buffer = new SharedArrayBuffer(64);
    for (let no = 1; no <= 5; no += 1) {
      sender.send(groupOf({ no, buffer }));
      // As a sender does that was held up between writing the request and waking the receiver.
      while (Atomics.notify(control, 0) === 0 || answered.length < no) await new Promise(setImmediate);
    }
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    sender.send({ kind: 'close' });
    await ended;
    expect(answered).toEqual([1, 2, 3, 4, 5]);
  });
});
