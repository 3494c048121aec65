import type { NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement: 'The rates of Oracle 11.2 and of Redis 2.0.4 on Amazon EC2 machines of 2011',
    reason:
      "the diagrams are pictures without numbers; here our persistent and buffered queues stand for Oracle's, and Redis is the version that is installed",
  },
  {
    statement: 'Client and servers are two machines of one local network',
    reason: 'there is one machine: client and server are two processes, connected by a Unix socket',
  },
  {
    statement: 'Many threads on one queue, and many threads on many queues',
    reason:
      'the document announces both and reports neither, so there is no claim to judge; scenarios measure them',
  },
  {
    statement:
      'Persistent queues put much load on the database, which is the bottleneck of large applications',
    reason: 'no other work runs in the queue; CPU per message is measured',
  },
  {
    statement: 'Slaves of Redis improve its failover, and buffered queues fail over badly',
    reason: 'the document tests neither; a stop of the instance loses all messages of a buffered queue',
  },
];
