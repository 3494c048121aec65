/** Claims from the document's text, which gives no numbers: the bars are ours, and each reason states them. */

import { ofType } from '../../judging/of-type.ts';
import type { Claim } from '../study.ts';
import { judgeW8 } from './judges/conversion.ts';
import { judgeW7 } from './judges/failover.ts';
import {
  judgeW1,
  judgeW2,
  judgeW3,
  judgeW4,
  judgeW5,
  judgeW6,
  judgeW9,
  judgeW10,
} from './judges/word-judges.ts';

export const wordClaims: readonly Claim[] = [
  {
    id: 'W1',
    title: 'A huge backlog does not slow dequeues',
    document: 'Sharded queues are stored in the database, so they can handle huge backlogs.',
    where: 'Architecture (from page 3), paragraph on backlogs and message size',
    stated: 'they can handle huge backlogs of large messages',
    grade: 'shape',
    judge: ofType('queue', judgeW1),
  },
  {
    id: 'W2',
    title: 'Larger messages move more bytes',
    document:
      'Message size affects the throughput of every queue, and the architecture takes this into account: the cache keeps only the metadata of large messages.',
    where: 'Architecture (from page 3), paragraph on backlogs and message size',
    stated:
      'the message cache will not cache the full payload of larger messages, but it will still cache the appropriate metadata of larger messages',
    grade: 'shape',
    judge: ofType('queue', judgeW2),
  },
  {
    id: 'W3',
    title: 'Many subscribers are cheap',
    document:
      'Bitmaps track the subscribers of a message, which supports large numbers of subscribers efficiently.',
    where: 'Architecture (from page 3), paragraph on backlogs and message size',
    stated:
      'To support a large number of subscribers efficiently, bitmaps are used to track subscribers to a message',
    grade: 'shape',
    judge: ofType('topic', judgeW3),
    weak: 'CPU that is drawn at random stays within the bar for 6 % of the systems.',
  },
  {
    id: 'W4',
    title: 'The message cache saves CPU',
    document:
      'If dequeuers keep up, the message cache provides the order of a shard without SQL, which reduces the CPU and disk overhead of enqueues and dequeues.',
    where: 'Architecture (from page 3), first paragraph after Figure 2',
    stated:
      'The message cache optimizes performance and reduces the disk and CPU overhead of AQ-JMS enqueues and dequeues',
    grade: 'shape',
    judge: ofType('queue', judgeW4),
  },
  {
    id: 'W5',
    title: 'Nonpersistent messages are faster',
    document: 'The message cache also stores nonpersistent messages, which then need no disk.',
    where: 'Architecture (from page 3), first paragraph after Figure 2',
    stated: 'The message cache is also used to store nonpersistent messages',
    grade: 'shape',
    judge: ofType('queue', judgeW5),
    weak: 'Rates that are drawn at random fulfil it for 6 % of the systems: it compares two rates, and messages that are not stored leave no syncs to count.',
  },
  {
    id: 'W6',
    title: 'Some workloads need no sharded queue',
    document: 'If an unsharded queue satisfies the requirements, there is no compelling need to migrate.',
    where: 'When not to use JMS Sharded Queues (page 10)',
    stated:
      'If unsharded queues satisfy your requirements, there is no compelling need to migrate to sharded queues',
    grade: 'shape',
    judge: ofType('queue', judgeW6),
    weak: 'Any two queues are as fast as each other where a slow client sets the pace, which is what the claim says.',
  },
  {
    id: 'W7',
    title: 'A failed instance is taken over with all its messages',
    document:
      "Persistent messages fail over and are recovered like the database's tables, which makes the queue highly available.",
    where: 'Introduction (page 2), paragraph after the list',
    stated:
      'Persistent AQ messages can be failed over to a standby database, backed up or recovered using Oracle Database functionality',
    grade: 'shape',
    judge: ofType('queue', judgeW7, { isKilled: false }),
    weak: 'A system without processes that reports a short outage fulfils it: the outage is what its own clients noticed, and nothing else is compared with it.',
    aboutIntegrity: true,
  },
  {
    id: 'W8',
    title: 'A queue in use can be converted without changing its clients',
    document:
      'Existing applications need no changes: the queue is drained, dropped when empty, and created again as a sharded queue with the same name.',
    where: 'Converting to JMS Sharded Queues (page 10), first paragraph',
    stated:
      'Existing applications built upon the JMS standard should not require changes to use JMS Sharded Queues beyond using the 12.1 JMS and JDBC drivers. You simply need to recreate the queue when it is empty',
    grade: 'shape',
    judge: ofType('queue', judgeW8, { isKilled: false }),
    weak: 'A system that reports the same rate after the conversion as before fulfils it, whatever it converted.',
    aboutIntegrity: true,
  },
  {
    id: 'W9',
    title: 'Forwarding does not slow enqueues',
    document:
      'If one session enqueues on one instance and another dequeues on a second instance, messages are forwarded between them, asynchronously to the enqueuing transaction.',
    where: 'Architecture (from page 3), paragraph on cross-instance communication',
    stated:
      'The forwarding of messages is done asynchronously to the enqueueing transaction to improve performance',
    grade: 'shape',
    judge: ofType('queue', judgeW9),
  },
  {
    id: 'W10',
    title: 'Messages and rows need one commit, not two',
    document:
      'Enqueues and dequeues commit in the same transaction as other database operations, without a two-phase commit.',
    where: 'Introduction (page 2), paragraph after the list; Conclusion',
    stated:
      'atomically committed at the same time as other database operations without requiring the overhead of two-phase commit or XA interfaces',
    grade: 'shape',
    judge: ofType('queue', judgeW10),
    weak: 'Rates that are drawn at random fulfil it for 5 % of the systems: it compares two rates.',
  },
];
