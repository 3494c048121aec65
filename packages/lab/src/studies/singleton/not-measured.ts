import type { NotBuilt, NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement: 'The service benefits from failover and not from the performance scaling of the cluster.',
    reason:
      'It is what one object is; the engine runs the calls of a service one at a time, which a test holds.',
  },
  {
    statement: 'A holder that hangs, is replaced and then wakes cannot write.',
    reason:
      'A hung process is killed before it is replaced, so a run sees it wake only before that. An engine test replaces holders without killing them, 200 times, and has every later write refused.',
  },
];

export const notBuilt: readonly NotBuilt[] = [
  {
    feature: 'Consensus leasing, which needs no database',
    instead:
      'The leases and epochs of the instances, in the catalog and in the files: the document names both kinds.',
  },
  {
    feature: 'Deploying a service into a running cluster',
    instead:
      'Services are configured when the processes start; a new one takes a restart, one process after the other.',
  },
];
