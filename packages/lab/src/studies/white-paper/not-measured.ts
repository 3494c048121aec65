/** Statements of the document that no scenario measures yet, with the reason. */
import type { NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement: 'Backup, recovery and a standby database protect queues as they protect tables',
    reason: 'there is no standby; crash tests verify recovery, but no scenario times it',
  },
];
