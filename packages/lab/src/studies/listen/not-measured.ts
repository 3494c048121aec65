import type { NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement: 'The nanoseconds of a get under Oracle 19 on Linux and Solaris, with DTrace',
    reason:
      "another machine and another program; ours are measured in the session itself, from the call to the release as there, and shown beside the document's table",
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
      'no message of the load is returned; a retry limit is a setting of the queue, and the shared count follows a message that it moves away',
  },
  {
    statement: 'Consumed messages are kept for 86,400 s',
    reason:
      'the topic of the load keeps none, so that a run needs little disk; `retentionMs` is a setting of the queue',
  },
];
