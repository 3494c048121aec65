/**
 * Our queue over REST: a connection for each producer and consumer. A transaction is one call that enqueues all its messages; a
 * consumer's is a dequeue and the acknowledgement of what it gave.
 */

import { serverCall } from '../meters/load-waits.ts';
import type { OpenClient } from './driver/driver.ts';
import { startPulling } from './driver/pull-consumers.ts';
import { HttpConnection, type HttpResponse } from './http-connection.ts';

/** How long a dequeue waits for a message before its consumer asks whether it must stop, milliseconds. */
const waitMs = 100;
const queuePath = (index: number) => `/api/queues/queue-${index}`;

interface Delivered {
  messages: { payloadBase64: string; receipt: string; deliveryCount: number }[];
}

/** `creates`: whether the server has queues at all; one that only validates has none. */
export function openRest({ creates }: { creates: boolean }): OpenClient {
  return async ({ endpoints: [url], createsQueue, queues = 1 }) => {
    const connections: HttpConnection[] = [];
    const connect = async () => {
      const connection = await HttpConnection.open(url!);
      connections.push(connection);
      return connection;
    };
    const control = await connect();
    if (creates && createsQueue) {
      for (let index = 0; index < queues; index += 1) {
        const queue = JSON.stringify({ name: `queue-${index}`, durability: 'durable' });
        expectStatus(await control.request('POST', '/api/queues', queue), 201);
      }
    }
    const infoOf = async (index: number) => {
      const { body } = expectStatus(await control.request('GET', queuePath(index)), 200);
      return JSON.parse(body.toString()) as { durability?: string; ready: number; held: number };
    };
    const { durability } = await infoOf(0);
    let producers = 0;
    return {
      stated: durability === undefined ? 'none' : `durability ${durability}`,
      async openProducer() {
        const path = `${queuePath(producers++ % queues)}/messages`;
        const connection = await connect();
        return {
          async send(payloads) {
            const messages = payloads.map((payload) => `{"payloadBase64":"${payload.toString('base64')}"}`);
            const answer = await connection.request('POST', path, `{"messages":[${messages.join(',')}]}`);
            expectStatus(answer, 201);
          },
        };
      },
      async consume({ consumers, operations, deliveries, book }) {
        const own = await Promise.all(Array.from({ length: consumers }, connect));
        const dequeue = JSON.stringify({ max: operations, waitMs });
        return startPulling({
          consumers,
          book,
          pauseMs: 0,
          async turn(consumer, time) {
            const connection = own[consumer]!;
            const path = queuePath(consumer % queues);
            const dequeuing = connection.request('POST', `${path}/dequeue`, dequeue);
            const answer = await time.suspend(dequeuing, serverCall);
            time.resume();
            const { messages } = JSON.parse(expectStatus(answer, 200).body.toString('latin1')) as Delivered;
            if (messages.length === 0) return time.yield(false);
            const taken = messages.map(({ payloadBase64, deliveryCount }) =>
              deliveries.delivered(Buffer.from(payloadBase64, 'base64'), consumer, deliveryCount),
            );
            if (messages.some(({ deliveryCount }) => deliveryCount > 1))
              deliveries.redelivered(taken, consumer);
            const receipts = JSON.stringify({ receipts: messages.map(({ receipt }) => receipt) });
            const acknowledging = connection.request('POST', `${path}/ack`, receipts);
            expectStatus(await time.suspend(acknowledging, serverCall), 204);
            time.resume();
            deliveries.consumed(taken, consumer);
            return time.yield(true);
          },
        });
      },
      async depth() {
        let sum = 0;
        for (let index = 0; index < queues; index += 1) {
          const { ready, held } = await infoOf(index);
          sum += ready + held;
        }
        return sum;
      },
      async close() {
        for (const connection of connections) connection.close();
      },
    };
  };
}

function expectStatus(response: HttpResponse, wanted: number): HttpResponse {
  if (response.status === wanted) return response;
  throw new Error(`The server answered ${response.status}: ${response.body.toString().slice(0, 500)}`);
}
