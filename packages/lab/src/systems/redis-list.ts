/**
 * Redis lists as queues. A _reliable_ consumer moves messages to a list of its own (LMOVE, or BLMOVE when it waits) and
 * removes them from there when they are finished; a transaction of several messages is one pipeline, to which Redis
 * responds after one sync. If its process was killed, the next consumer of its number first finishes what its list has. A
 * _plain_ consumer pops them (LPOP, or BLPOP when it waits): what it holds when it fails is gone.
 */

import { type SessionTime, waitingForMessages } from '@shardlab/engine';
import { Redis } from 'ioredis';
import { serverCall } from '../meters/load-waits.ts';
import type { ConsumeOptions, OpenClient } from './driver/driver.ts';
import { startPulling } from './driver/pull-consumers.ts';

const queueList = (index: number) => `queue:${index}`;
const heldList = (consumer: number | '*') => `held:${consumer}`;
/** How long a consumer waits for a message before it checks whether it must stop. */
const waitSeconds = 0.1;

/** Takes one message or more from the list; none if there were none for a while. */
type TakeMessages = (connection: Redis, from: string, options: TakeOptions) => Promise<boolean>;
interface TakeOptions extends ConsumeOptions {
  consumer: number;
  time: SessionTime;
}

export const openRedisList =
  (take: 'plain' | 'reliable'): OpenClient =>
  async ({ endpoints: [endpoint], queues = 1, createsQueue }) => {
    const connections: Redis[] = [];
    const connect = async () => {
      const connection = new Redis({ path: endpoint!, lazyConnect: true });
      await connection.connect();
      connections.push(connection);
      return connection;
    };
    const control = await connect();
    const [, appendOnly] = (await control.config('GET', 'appendonly')) as string[];
    const [, appendFsync] = (await control.config('GET', 'appendfsync')) as string[];
    const [, save] = (await control.config('GET', 'save')) as string[];
    const takeMessages: TakeMessages = take === 'plain' ? popMessages : moveMessages;
    let producers = 0;
    return {
      stated:
        appendOnly === 'yes'
          ? `appendonly yes, appendfsync ${appendFsync}`
          : `appendonly no, save ${save || 'never'}`,
      async openProducer() {
        const list = queueList(producers++ % queues);
        const connection = await connect();
        return {
          async send(payloads) {
            await connection.rpush(list, ...payloads);
          },
        };
      },
      async consume(options) {
        const own = await Promise.all(Array.from({ length: options.consumers }, connect));
        const isContinued = take === 'reliable' && !createsQueue;
        const unfinished = new Set(isContinued ? own.keys() : []);
        const pulling = startPulling({
          consumers: options.consumers,
          book: options.book,
          pauseMs: 0,
          turn(consumer, time) {
            const [connection, taking] = [own[consumer]!, { ...options, consumer, time }];
            if (unfinished.delete(consumer)) return finishMoved(connection, taking);
            return takeMessages(connection, queueList(consumer % queues), taking);
          },
        });
        return {
          async stop() {
            await pulling.stop();
            for (const connection of own) connection.disconnect();
          },
        };
      },
      async depth() {
        const queueLists = Array.from({ length: queues }, (_, index) => queueList(index));
        const lists = [...queueLists, ...(await control.keys(heldList('*')))];
        const lengths = await Promise.all(lists.map((list) => control.llen(list)));
        return lengths.reduce((sum, length) => sum + length, 0);
      },
      async close() {
        for (const connection of connections) connection.disconnect();
      },
    };
  };

async function popMessages(
  connection: Redis,
  from: string,
  { operations, deliveries, consumer, time }: TakeOptions,
): Promise<boolean> {
  let payloads = (await time.suspend(connection.lpopBuffer(from, operations), serverCall)) ?? [];
  time.resume();
  if (payloads.length === 0) {
    const popped = await time.suspend(connection.blpopBuffer(from, waitSeconds), waitingForMessages);
    time.resume();
    if (popped === null) return time.yield(false);
    payloads = [popped[1]!];
  }
  const taken = payloads.map((payload) => deliveries.delivered(payload, consumer));
  deliveries.consumed(taken, consumer);
  return time.yield(true);
}

async function moveMessages(connection: Redis, from: string, options: TakeOptions): Promise<boolean> {
  const { operations, consumer, time } = options;
  const held = heldList(consumer);
  let payloads: Buffer[] = [];
  if (operations > 1) {
    const moving = moveSeveral(connection, { from, held, count: operations });
    payloads = await time.suspend(moving, serverCall);
    time.resume();
  }
  if (payloads.length === 0) {
    // Without a call before, nobody knows whether it waits for a message.
    const event = operations > 1 ? waitingForMessages : serverCall;
    const moving = connection.blmoveBuffer(from, held, 'LEFT', 'RIGHT', waitSeconds);
    const payload = await time.suspend(moving, event);
    time.resume();
    if (payload === null) return time.yield(false);
    payloads = [payload];
  }
  return finish(connection, payloads, options);
}

/** Messages that a consumer of this number had moved to its list when its process was killed. */
async function finishMoved(connection: Redis, options: TakeOptions): Promise<boolean> {
  const { consumer, time } = options;
  const payloads = await time.suspend(connection.lrangeBuffer(heldList(consumer), 0, -1), serverCall);
  time.resume();
  if (payloads.length === 0) return time.yield(false);
  return finish(connection, payloads, options);
}

/** Delivers messages that the consumer's list has, and removes them from there. */
async function finish(
  connection: Redis,
  payloads: readonly Buffer[],
  { deliveries, consumer, time }: TakeOptions,
): Promise<boolean> {
  const taken = payloads.map((payload) => deliveries.delivered(payload, consumer));
  await time.suspend(connection.lpop(heldList(consumer), taken.length), serverCall);
  time.resume();
  deliveries.consumed(taken, consumer);
  return time.yield(true);
}

async function moveSeveral(
  connection: Redis,
  { from, held, count }: { from: string; held: string; count: number },
): Promise<Buffer[]> {
  const pipeline = connection.pipeline();
  for (let each = 0; each < count; each += 1) pipeline.lmoveBuffer(from, held, 'LEFT', 'RIGHT');
  const payloads: Buffer[] = [];
  for (const [error, payload] of (await pipeline.exec()) ?? []) {
    if (error !== null) throw error;
    if (payload !== null) payloads.push(payload as Buffer);
  }
  return payloads;
}
