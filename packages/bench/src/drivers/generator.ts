/** No queue at all: an array in memory. What the bench itself costs, a message made and checked, without any system. */
import type { OpenClient } from './driver.ts';
import { startPulling } from './pull-consumers.ts';

export const open: OpenClient = async () => {
  const messages: Buffer[] = [];
  let taken = 0;
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
          const batch = messages.slice(taken, taken + operations);
          taken += batch.length;
          if (taken > 100_000) {
            messages.splice(0, taken);
            taken = 0;
          }
          deliveries.consumed(batch.map((payload) => deliveries.handedOut(payload, consumer)));
          return batch.length > 0;
        },
      });
    },
    async depth() {
      return messages.length - taken;
    },
    async close() {},
  };
};
