/** What document A says in words beside its figures. It gives no numbers there: the bars are ours, and each reason names them. */
import type { Claim } from './claim.ts';

export const wordClaims: readonly Claim[] = [
  {
    id: 'W1',
    title: 'A huge backlog does not slow dequeues',
    document: 'Sharded queues lie in the database, and so they handle huge backlogs.',
    grade: 'shape',
  },
  {
    id: 'W2',
    title: 'Larger messages move more bytes',
    document:
      'The size of messages affects the throughput of every queue, and the architecture is well designed for it: the cache keeps only the metadata of large ones.',
    grade: 'shape',
  },
  {
    id: 'W3',
    title: 'Many subscribers are cheap',
    document: 'Bitmaps that track the subscribers of a message support a large number of them efficiently.',
    grade: 'shape',
  },
  {
    id: 'W4',
    title: 'The message cache saves CPU',
    document:
      'Where dequeuers keep up the message cache gives the order of a shard without SQL, which reduces the CPU and disk overhead of enqueues and dequeues.',
    grade: 'shape',
  },
  {
    id: 'W5',
    title: 'Nonpersistent messages are faster',
    document: 'The message cache also stores nonpersistent messages, which then need no disk.',
    grade: 'shape',
  },
  {
    id: 'W6',
    title: 'Some workloads do as well unsharded',
    document: 'Where an unsharded queue satisfies the requirements, there is no compelling need to migrate.',
    grade: 'shape',
  },
  {
    id: 'W7',
    title: 'A failed instance is served again, with all its messages',
    document:
      'Persistent messages fail over and are recovered as the tables of the database are, which makes the queue highly available.',
    grade: 'shape',
  },
  {
    id: 'W8',
    title: 'A queue in use is converted, and its clients go on',
    document:
      'Existing applications need no changes: the queue is drained, dropped empty and created anew as a sharded one under its name.',
    grade: 'shape',
  },
  {
    id: 'W9',
    title: 'Forwarding does not hold enqueues up',
    document:
      'With one session that enqueues on one instance and one that dequeues on another, messages are forwarded between them, asynchronously to the enqueuing transaction.',
    grade: 'shape',
  },
  {
    id: 'W10',
    title: 'Messages and rows need one commit, not two',
    document:
      'Enqueues and dequeues are committed in the same transaction as other operations of the database, without a two-phase commit.',
    grade: 'shape',
  },
];
