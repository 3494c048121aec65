/**
 * NATS JetStream: a work-queue stream in files and one shared durable consumer. There are no batch calls, so the publishes
 * of a transaction are in flight together, as are confirmed acknowledgements.
 */
import { serverCall, waitingForMessages } from '../../meters/load-waits.ts';
import type { OpenClient } from '../driver/driver.ts';
import { settledCount } from '../driver/settled-count.ts';
import { clientPackage } from './client-packages.ts';

interface Message {
  data: Uint8Array;
  info: { deliveryCount: number };
  ackAck(): Promise<boolean>;
}
interface Messages extends AsyncIterable<Message> {
  close(): Promise<unknown>;
}
interface JetStream {
  publish(subject: string, payload: Uint8Array): Promise<unknown>;
  consumers: {
    get(
      stream: string,
      name: string,
    ): Promise<{ consume(options: { max_messages: number }): Promise<Messages> }>;
  };
}
interface Manager {
  streams: {
    add(config: Record<string, unknown>): Promise<unknown>;
    info(stream: string): Promise<{ config: { storage: string }; state: { messages: number } }>;
  };
  consumers: { add(stream: string, config: Record<string, unknown>): Promise<unknown> };
}
interface Connection {
  close(): Promise<void>;
}
interface JetStreamPackage {
  jetstream(connection: Connection): JetStream;
  jetstreamManager(connection: Connection): Promise<Manager>;
}
interface Transport {
  connect(options: { servers: string }): Promise<Connection>;
}

const name = 'lab';

export const open: OpenClient = async ({ endpoints: [endpoint], createsQueue, durability }) => {
  const { connect } = clientPackage<Transport>('@nats-io/transport-node');
  const { jetstream, jetstreamManager } = clientPackage<JetStreamPackage>('@nats-io/jetstream');
  const connection = await connect({ servers: endpoint! });
  const manager = await jetstreamManager(connection);
  if (createsQueue) {
    await manager.streams.add({ name, subjects: [name], storage: 'file', retention: 'workqueue' });
    await manager.consumers.add(name, { durable_name: name, ack_policy: 'explicit', max_ack_pending: -1 });
  }
  const { config } = await manager.streams.info(name);
  const stream = jetstream(connection);
  return {
    stated: `storage ${config.storage}, ${durability}`,
    async openProducer() {
      return {
        async send(payloads) {
          await Promise.all(payloads.map((payload) => stream.publish(name, payload)));
        },
      };
    },
    async consume({ consumers, operations, deliveries, book }) {
      const shared = await stream.consumers.get(name, name);
      const all = await Promise.all(
        Array.from({ length: consumers }, () => shared.consume({ max_messages: Math.max(operations, 1) })),
      );
      const working = all.map(async (messages, consumer) => {
        const underWay = new Set<Promise<void>>();
        const time = book.openSession();
        time.resume();
        const suspend = () => time.suspend(undefined, underWay.size > 0 ? serverCall : waitingForMessages);
        suspend();
        for await (const message of messages) {
          time.resume();
          const { deliveryCount } = message.info;
          const delivery = deliveries.delivered(Buffer.from(message.data), consumer, deliveryCount);
          const acknowledged = message.ackAck().then(() => {
            time.resume();
            deliveries.consumed([delivery], consumer);
            underWay.delete(acknowledged);
            suspend();
          });
          underWay.add(acknowledged);
          if (underWay.size >= operations) {
            await time.suspend(Promise.race(underWay), serverCall);
            time.resume();
          }
          suspend();
        }
        await Promise.all(underWay);
        time.close();
      });
      return {
        async stop() {
          await Promise.all(all.map((messages) => messages.close()));
          await Promise.all(working);
        },
      };
    },
    depth() {
      return settledCount(async () => (await manager.streams.info(name)).state.messages);
    },
    async close() {
      await connection.close();
    },
  };
};
