import type { NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement: 'Client and server on two machines',
    reason:
      'there is one machine: they are two processes, connected by a Unix socket, of NATS by a loopback port',
  },
  {
    statement: 'More cores than clients and servers keep busy',
    reason:
      'load generator, client and server share the cores of this machine, and each has its part in every rate',
  },
];
