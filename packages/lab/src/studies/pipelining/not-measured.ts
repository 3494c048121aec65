import type { NotBuilt, NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement: 'Without quotas the server holds more messages than can be delivered and pages them to disk',
    reason:
      'nonpersistent messages are never written here: without a quota the bytes of the message cache are the bound, and a refused send is tried again',
  },
  {
    statement: 'A pipeline that is sent as a single message can exceed MaxT3MessageSize',
    reason: 'a delivery is sent in frames of about 1 MiB, whatever its size',
  },
  {
    statement: 'UNIX top reports that the thread of the consumer uses 100 % of a core',
    reason: "the CPU time of the consumer's thread is a figure of each point instead",
  },
];

export const notBuilt: readonly NotBuilt[] = [
  {
    feature: 'Paging of nonpersistent messages to disk',
    instead: 'an enqueue past the bytes of the message cache is refused, or waits for room',
  },
];
