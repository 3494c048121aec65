/**
 * A Redis list as a reliable queue: a consumer moves messages to a list of its own (LMOVE, or BLMOVE when it waits) and
 * removes them from there when they are finished. A transaction of several messages is one pipeline, to which Redis
 * responds after one sync.
 */
import type { ConsumeOptions, OpenClient } from './driver.ts';
import { peerPackage } from './peer-packages.ts';
import { startPulling } from './pull-consumers.ts';

/** The part of ioredis that is used. */
interface Redis {
  connect(): Promise<void>;
  config(get: 'GET', name: string): Promise<string[]>;
  rpush(list: string, ...values: Buffer[]): Promise<number>;
  blmoveBuffer(from: string, to: string, take: 'LEFT', put: 'RIGHT', seconds: number): Promise<Buffer | null>;
  pipeline(): Pipeline;
  lpop(list: string, count: number): Promise<unknown>;
  llen(list: string): Promise<number>;
  keys(pattern: string): Promise<string[]>;
  disconnect(): void;
}
interface Pipeline {
  lmoveBuffer(from: string, to: string, take: 'LEFT', put: 'RIGHT'): Pipeline;
  exec(): Promise<[error: Error | null, value: Buffer | null][]>;
}
type RedisConstructor = new (options: { path: string; lazyConnect: boolean }) => Redis;

const queue = 'queue';
const heldList = (consumer: number) => `held:${consumer}`;
/** How long a consumer waits for a message before it checks whether it must stop. */
const waitSeconds = 0.1;

export const open: OpenClient = async ({ endpoints: [endpoint] }) => {
  const { Redis } = peerPackage<{ Redis: RedisConstructor }>('ioredis');
  const connections: Redis[] = [];
  const connect = async () => {
    const connection = new Redis({ path: endpoint!, lazyConnect: true });
    await connection.connect();
    connections.push(connection);
    return connection;
  };
  const control = await connect();
  const [, appendOnly] = await control.config('GET', 'appendonly');
  const [, appendFsync] = await control.config('GET', 'appendfsync');
  return {
    stated: `appendonly ${appendOnly}, appendfsync ${appendFsync}`,
    async openProducer() {
      const connection = await connect();
      return {
        async send(payloads) {
          await connection.rpush(queue, ...payloads);
        },
      };
    },
    async consume(options) {
      const own = await Promise.all(Array.from({ length: options.consumers }, connect));
      return startPulling({
        consumers: options.consumers,
        pauseMs: 0,
        turn: (consumer) => popMessages(own[consumer]!, consumer, options),
      });
    },
    async depth() {
      const lists = [queue, ...(await control.keys(heldList(0).replace('0', '*')))];
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
  consumer: number,
  { operations, deliveries }: ConsumeOptions,
): Promise<boolean> {
  const held = heldList(consumer);
  let payloads = operations > 1 ? await moveToHeld(connection, held, operations) : [];
  if (payloads.length === 0) {
    const payload = await connection.blmoveBuffer(queue, held, 'LEFT', 'RIGHT', waitSeconds);
    if (payload === null) return false;
    payloads = [payload];
  }
  const taken = payloads.map((payload) => deliveries.delivered(payload, consumer));
  await connection.lpop(held, taken.length);
  deliveries.consumed(taken, consumer);
  return true;
}

async function moveToHeld(connection: Redis, held: string, count: number): Promise<Buffer[]> {
  const pipeline = connection.pipeline();
  for (let each = 0; each < count; each += 1) pipeline.lmoveBuffer(queue, held, 'LEFT', 'RIGHT');
  const payloads: Buffer[] = [];
  for (const [error, payload] of await pipeline.exec()) {
    if (error !== null) throw error;
    if (payload !== null) payloads.push(payload);
  }
  return payloads;
}
