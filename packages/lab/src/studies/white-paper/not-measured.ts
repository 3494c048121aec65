/** Statements of the document that no scenario measures yet, and features that the engine does not have. */
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
  { feature: 'Online backup', instead: 'the folder can be copied while the server is stopped' },
];
