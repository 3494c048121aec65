/** The study of our own documentation's statements about queues on NATS JetStream. */
import { failoverProgram } from '../../programs/jetstream/failover-program.ts';
import { powerCutProgram } from '../../programs/jetstream/power-cut-program.ts';
import type { Study } from '../study.ts';
import { claims } from './claims.ts';
import { notMeasured } from './not-measured.ts';

export const study: Study = {
  id: 'jetstream',
  document: {
    letter: 'J',
    title: 'Queues on NATS JetStream',
    kind: "This project's own documentation (docs/distributed.md)",
    author: 'This project',
    addresses: [{ title: 'Analysis by Jepsen', address: 'https://jepsen.io/analyses/nats-2.12.1' }],
    date: '2026-11',
    about:
      'What the same sessions promise on three servers that replicate each queue: nothing that was acknowledged is lost while one of them fails, and service is back within seconds.',
  },
  claims,
  notMeasured,
  programs: [failoverProgram, powerCutProgram],
};
