/** No queue system, only an array in memory: measures the bench's own cost of creating and checking a message. */
import type { OpenClient } from './driver.ts';
import { startPulling } from './pull-consumers.ts';

export const open: OpenClient = async () => {
  const messages: Buffer[] = [];
  /** Index of the next message; those before it are consumed. */
  let start = 0;
  return {
    stated: 'none',
    async openProducer() {
      return {
        async send(payloads) {
          messages.push(...payloads);
        },
      };
    },
    async consume({ consumers, operations, deliveries }) {
      return startPulling({
        consumers,
        pauseMs: 1,
        async turn(consumer) {
          const batch = messages.slice(start, start + operations);
          start += batch.length;
          if (start > 100_000) {
            messages.splice(0, start);
            start = 0;
          }
          const taken = batch.map((payload) => deliveries.delivered(payload, consumer));
          deliveries.consumed(taken, consumer);
          return batch.length > 0;
        },
      });
    },
    async depth() {
      return messages.length - start;
    },
    async close() {},
  };
};
