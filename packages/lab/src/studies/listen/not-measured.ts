import type { NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement: 'The nanoseconds of a get under Oracle 19 on Linux and Solaris, with DTrace',
    reason:
      "another machine and another program; ours are measured in the session itself, from the call to the release as there, and shown beside the document's table",
  },
  {
    statement: '80 and 80 sessions for ten minutes',
    reason:
      'ten seconds here, in each of five repeats: shares of the time and means of a wait are compared, and counts and totals are those of ten seconds',
  },
  {
    statement: 'Enqueuers and dequeuers burn CPU between two calls',
    reason:
      'on few cores that would be most of what is measured: enqueuers pause instead, and do not enqueue before their message was consumed',
  },
  {
    statement: 'One traced session among many, whose count is multiplied with the number of sessions',
    reason: 'every session counts for itself here, so that totals are sums and no extrapolations',
  },
  {
    statement: 'Mutex releases exceed mutex gets (21 for 18), because a get can be nested in another',
    reason: 'our sections do not nest: each get has one release',
  },
  {
    statement: 'The dequeue retries 5 times with a delay of 2 s',
    reason:
      'the delay is set, and no message of the load is returned; the limit is not, because each delivery would be counted in the file before it is made: one more write for each dequeue. Both are settings of the queue, and the shared count follows them',
  },
  {
    statement: 'Consumed messages are kept for 86,400 s',
    reason:
      'the topic of the load keeps none, so that a run needs little disk; `retentionMs` is a setting of the queue',
  },
  {
    statement: 'The queue is sorted by priority, then by the time of the enqueue',
    reason:
      'the topic has priorities, and no message of the load has one, as in the document. The topic is sharded: it keeps the order of the messages of each session, and each subscriber has one enqueuer. Only an unsharded topic orders messages of several sessions by time',
  },
  {
    statement: '100 durable and 1,024 temporary subscribers are listed at the same time',
    reason:
      'in Oracle the limit does not count both kinds together. Here durable and temporary subscribers share 1,024 slots: the case begins without subscribers, so 1,024 temporary ones fit and one more is refused',
  },
];
