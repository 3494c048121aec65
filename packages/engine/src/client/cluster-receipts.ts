/** Receipts of a cluster begin with the number of their instance, which alone knows them. */

import { QueueError } from '../api/errors.ts';
import type { Message } from '../api/message.ts';
import { assertTexts } from '../model/call-arguments.ts';
import type { InstanceId } from '../model/ids.ts';

/** The message as a client of the whole cluster gets it. Its payload is decoded when it is read, as before. */
export function withInstancePrefix(instance: InstanceId, message: Message): Message {
  const { id, correlationId, groupKey, properties, recipients, priority } = message;
  const { payloadBytes, streamed, enqueuedAtMs, deliveryCount } = message;
  return {
    id,
    get payload() {
      return message.payload;
    },
    payloadBytes,
    streamed,
    payloadStream: () => message.payloadStream(),
    correlationId,
    groupKey,
    properties,
    recipients,
    priority,
    enqueuedAtMs,
    deliveryCount,
    receipt: message.receipt === '' ? '' : `${instance}/${message.receipt}`,
  };
}

/** Returns the instance of the receipts, and the receipts without its number. Throws `RECEIPT_STALE`, `TX_SPANS_INSTANCES`. */
export function splitReceipts(
  receipts: readonly string[],
): [instance: InstanceId, instanceReceipts: string[]] {
  assertTexts('receipts', receipts);
  const split = receipts.map((receipt) => {
    const [, instance, instanceReceipt] = /^([1-9]\d?)\/(.+)$/.exec(receipt) ?? [];
    if (instance === undefined || instanceReceipt === undefined) {
      throw new QueueError('RECEIPT_STALE', { details: { receipt } });
    }
    return { instance: Number(instance), instanceReceipt };
  });
  const instances = new Set(split.map(({ instance }) => instance));
  const [instance] = instances;
  if (instance === undefined) throw new QueueError('OPTIONS_INVALID', { message: 'receipts is empty' });
  if (instances.size > 1)
    throw new QueueError('TX_SPANS_INSTANCES', { details: { instances: [...instances] } });
  return [instance, split.map(({ instanceReceipt }) => instanceReceipt)];
}
