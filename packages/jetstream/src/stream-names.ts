/**
 * Names on the servers. A queue is one stream; the subject of a message names its shard, or, until it is due, its delay.
 * Names of queues have dots, which streams and subjects cannot have in a name, and never a tilde.
 */
import { createHash } from 'node:crypto';

/** Wildcard for all subjects of this store in an account. */
export const subjectsOfAllQueues = 'shardlab.>';

export const queueConsumer = 'queue';

const token = (queue: string) => queue.replaceAll('.', '~');

export const streamOf = (queue: string) => `SHARDLAB_${token(queue)}`;
export const subjectsOf = (queue: string) => `shardlab.${token(queue)}.>`;
export const shardSubjects = (queue: string) => `shardlab.${token(queue)}.shard.*`;
export const shardSubject = (queue: string, shard: number) => `shardlab.${token(queue)}.shard.${shard}`;
export const delayedSubjects = (queue: string) => `shardlab.${token(queue)}.delayed.*`;
export const delayedSubject = (queue: string, id: string) => `shardlab.${token(queue)}.delayed.${id}`;

/** A subscriber's name is any text; its consumer keeps it as metadata. */
export function subscriberConsumer(name: string): string {
  return `subscriber-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
}
