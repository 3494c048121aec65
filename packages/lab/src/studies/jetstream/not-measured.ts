import type { NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement:
      'Jepsen also found that damaged or truncated files of a minority of the servers lose acknowledged messages (NATS 2.12.1).',
    reason:
      'The disks here forget what was not synced, and damage nothing. Creating, renaming and removing files survives their power cut.',
  },
  {
    statement: 'Three machines',
    reason: 'There is one: three processes on the loopback interface, whose routes can be cut.',
  },
];
