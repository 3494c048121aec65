/**
 * Statements of the document that no scenario measures yet, and what the document or the designed API names and is not built. A
 * test of the server holds that whatever it refuses as not supported is listed.
 */
import type { NotBuilt, NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement: 'Backup, recovery and a standby database protect queues as they protect tables',
    reason: 'there is no standby; crash tests verify recovery, but no scenario times it',
  },
];

export const notBuilt: readonly NotBuilt[] = [
  { feature: 'Selectors', instead: 'a consumer can ask for a correlation id, which the queue may index' },
  { feature: 'Expiry of messages', instead: 'messages stay until they are consumed' },
  { feature: 'Propagation to other databases', instead: 'messages are forwarded within the cluster only' },
  {
    feature: 'Transactional grouping',
    instead:
      'messages with one group key go to one shard, in order; a consumer does not get a transaction as a unit',
  },
  { feature: 'Standby databases', instead: 'another process of the same machine takes an instance over' },
  {
    feature: 'Deduplication of messages',
    instead:
      'a transaction that is sent again under its idempotency key commits once; a message has no such key',
  },
  {
    feature: 'Buffered queues as a kind of their own',
    instead: 'a sharded queue with durability memory and immediate visibility',
  },
  {
    feature: 'Named sessions over HTTP',
    instead: 'a connection has one session for each queue, and its messages stay in order',
  },
  {
    feature: 'Comparison of runs over HTTP',
    instead: 'the dashboard compares runs, and each can be exported',
  },
  { feature: 'Online backup', instead: 'the folder can be copied while the server is stopped' },
];
