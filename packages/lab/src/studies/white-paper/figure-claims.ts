/** Claims of the document's figures; its statements are in our words. */

import { ofType } from '../../judging/of-type.ts';
import type { Claim } from '../study.ts';
import { judgeA3, judgeA6, judgeA19 } from './judges/balance.ts';
import { judgeA7, judgeA14, judgeA17 } from './judges/cpu.ts';
import { judgeA4, judgeA13 } from './judges/gain.ts';
import { judgeA5 } from './judges/instances.ts';
import { judgeA9, judgeA18 } from './judges/response.ts';
import { judgeA1, judgeA15 } from './judges/scaling.ts';
import { judgeA8, judgeA10 } from './judges/spread.ts';
import { judgeA2, judgeA11, judgeA12, judgeA16 } from './judges/throughput.ts';

export const figureClaims: readonly Claim[] = [
  {
    id: 'A1',
    title: 'Sharded dequeues scale in a straight line',
    document:
      'The sharded dequeue rate rises in a straight line on log-log axes up to 32 threads, and does not regress as instances are added (figure 3).',
    where: 'Performance of AQ-JMS Queues (from page 4), second paragraph; Figure 3',
    stated:
      'sharded queues scale linearly with no regression as more instances are added until there are 32 concurrent enqueueer and dequeuer processes',
    grade: 'shape',
    judge: ofType('queue', judgeA1),
  },
  {
    id: 'A2',
    title: 'The sharded queue reaches 76,000 dequeues per second',
    document: 'The sharded queue reaches 76,000 dequeues per second on 8 nodes of 24 cores (figure 3).',
    where: 'Performance of AQ-JMS Queues (from page 4), second paragraph; Figure 3',
    stated: 'up to 76K dequeues per second',
    grade: 'prose',
    judge: ofType('queue', judgeA2),
  },
  {
    id: 'A3',
    title: 'Sharded dequeuers keep up',
    document: 'Dequeuers keep up with the same number of enqueuers up to 76,000 messages per second.',
    where: 'Performance of AQ-JMS Queues (from page 4), second paragraph; no figure',
    stated:
      'the dequeuers were able to keep up with the equivalent number of enqueueers for the JMS Queue up to 76K dequeues per second',
    grade: 'shape',
    judge: ofType('queue', judgeA3),
  },
  {
    id: 'A4',
    title: 'The unsharded queue gains little from threads or instances',
    document: 'The unsharded queue gains little from more threads or more instances (figure 3).',
    where: 'Performance of AQ-JMS Queues (from page 4), second paragraph; Figure 3',
    stated:
      'unsharded queues do not show a large increase of dequeue throughput as more threads or instances are added',
    grade: 'shape',
    judge: ofType('queue', judgeA4),
  },
  {
    id: 'A5',
    title: 'The unsharded queue is fastest on one instance',
    document:
      'The unsharded queue is fastest on one instance, with under 8,000 dequeues per second; several instances are slower, because they wait for blocks held by another session or instance.',
    where: 'Performance of AQ-JMS Queues (from page 4), third paragraph; Figure 3',
    stated:
      'An unsharded queue performs best on a single RAC node with a throughput below 8K dequeues per second. Multiple RAC nodes experienced global index contention',
    grade: 'prose',
    judge: ofType('queue', judgeA5),
  },
  {
    id: 'A6',
    title: 'Unsharded dequeues fall behind enqueues',
    document:
      'With equal numbers of threads, unsharded dequeues fall behind enqueues; the sharded enqueue rate scales like the dequeue rate (figure 4).',
    where: 'Performance of AQ-JMS Queues (from page 4), fourth paragraph; Figure 4',
    stated:
      'dequeues did not keep up with the enqueue rate when the number of enqueue and dequeue threads for the unsharded queue were kept the same',
    grade: 'shape',
    judge: ofType('queue', judgeA6),
  },
  {
    id: 'A7',
    title: 'The sharded queue dequeues four times as many messages per CPU second',
    document:
      'At higher loads the sharded queue dequeues more than four times as many messages per CPU second as the unsharded queue (figure 5).',
    where: 'Performance of AQ-JMS Queues (from page 4), fifth paragraph; Figure 5',
    stated:
      'sharded queues could dequeue over four times as many messages per CPU compared to the unsharded queue at higher loads',
    grade: 'prose',
    judge: ofType('queue', judgeA7),
  },
  {
    id: 'A8',
    title: 'The sharded queue spreads work evenly',
    document: 'The sharded queue distributes work well among the instances (figure 5).',
    where: 'Performance of AQ-JMS Queues (from page 4), fifth paragraph; Figure 5',
    stated: 'sharded queues spread the workload well between instances',
    grade: 'shape',
    judge: ofType('queue', judgeA8),
  },
  {
    id: 'A9',
    title: 'A sharded dequeue takes less than a millisecond',
    document: 'A dequeue from the sharded queue typically takes less than a millisecond.',
    where: 'Performance of AQ-JMS Queues (from page 4), fifth paragraph; no figure',
    stated:
      'Although not illustrated, the latency of the dequeues in the sharded queue was typically less than a millisecond',
    grade: 'prose',
    judge: judgeA9,
    weak: 'A system whose clients set the pace fulfils it too: a call that finds its message in the memory of its own process takes microseconds, whatever the queue does.',
  },
  {
    id: 'A10',
    title: 'Commits and partition maintenance limit the sharded queue',
    document:
      'The sharded queue is limited by the overhead of commits, shown by "log file sync", and by partition maintenance.',
    where: 'Performance of AQ-JMS Queues (from page 4), second and sixth paragraphs; no figure',
    stated:
      'the bottleneck for sharded queues was a combination of transaction commit overhead and partition maintenance overhead … the commit overhead (as indicated by the “Log file sync” wait event in AWR reports)',
    grade: 'shape',
    judge: ofType('queue', judgeA10),
  },
  {
    id: 'A11',
    title: 'Large batches approach 100,000 dequeues per second',
    document:
      'With much larger commit batches the sharded queue approaches (according to the caption of figure 6, exceeds) 100,000 dequeues per second; dequeuers keep up, and partition maintenance is the limit.',
    where: 'Performance of AQ-JMS Queues (from page 4), last paragraph; Figure 6',
    stated:
      'a limit near 100K dequeues per second … over 100K dequeues per second with large commit batch sizes',
    grade: 'prose',
    judge: ofType('queue', judgeA11),
  },
  {
    id: 'A12',
    title: 'A topic delivers 100,000 messages per second',
    document:
      'With 10 subscribers per message the sharded topic reaches about 100,000 dequeues per second (figure 7).',
    where: 'Performance of AQ-JMS Topics (from page 7), second paragraph; Figure 7',
    stated:
      'With 10 subscribers for each enqueued message, sharded queues achieved approximately 100K dequeues per second',
    grade: 'prose',
    judge: ofType('topic', judgeA12),
  },
  {
    id: 'A13',
    title: 'An unsharded topic does not scale',
    document:
      'The throughput of the unsharded topic does not grow with threads or instances, which wait for each other\'s blocks ("buffer busy waits", figure 7).',
    where: 'Performance of AQ-JMS Topics (from page 7), second paragraph; Figure 7',
    stated:
      'Unsharded queue throughput did not significantly improve with more threads and did not scale well on RAC due to global index contention, as indicated by the statistics such as buffer busy waits',
    grade: 'shape',
    judge: ofType('topic', judgeA13),
  },
  {
    id: 'A14',
    title: 'A sharded topic uses less than half of the CPU',
    document: 'The sharded topic uses less than half of the CPU that the unsharded topic uses.',
    where: 'Performance of AQ-JMS Topics (from page 7), second paragraph; no figure',
    stated: 'Sharded queues used less than half the CPU consumed by unsharded queues',
    grade: 'prose',
    judge: ofType('topic', judgeA14),
  },
  {
    id: 'A15',
    title: 'More instances do not slow enqueues to a topic',
    document: 'The enqueue rate of the sharded topic does not degrade as instances are added (figure 8).',
    where: 'Performance of AQ-JMS Topics (from page 7), third paragraph; Figure 8',
    stated: 'Sharded queue performance did not degrade as more RAC nodes were added',
    grade: 'shape',
    judge: ofType('topic', judgeA15),
  },
  {
    id: 'A16',
    title: 'With large batches a topic reaches 150,000 operations per second',
    document:
      'With larger commit batches the sharded topic reaches about 150,000 enqueues and dequeues per second together, more than half a billion per hour (figure 9).',
    where: 'Performance of AQ-JMS Topics (from page 7), fourth paragraph; Figure 9',
    stated:
      'approximately 150k combined enqueue and dequeue operations per second or over a half billion operations an hour on a single JMS Topic',
    grade: 'prose',
    judge: ofType('topic', judgeA16),
  },
  {
    id: 'A17',
    title: 'Each of eight instances stays below 10 % CPU',
    document:
      'With the sharded topic, CPU utilisation stays below 10 % on each of the eight nodes (figure 10).',
    where: 'Performance of AQ-JMS Topics (from page 7), fifth paragraph; Figure 10',
    stated:
      'the CPU utilization on each of the 8 nodes on the X4-2 was less than 10% for the sharded queue on a single JMS Topic',
    grade: 'prose',
    judge: ofType('topic', judgeA17),
  },
  {
    id: 'A18',
    title: 'The response time of a sharded topic stays flat under load',
    document:
      'The average response time of a dequeue stays flat for the sharded topic, and rises with instances or dequeuers for the unsharded topic (figure 11).',
    where: 'Performance of AQ-JMS Topics (from page 7), last paragraph; Figure 11',
    stated:
      'the average response time for a dequeue operation stayed relatively flat for sharded queues, whereas the response time for unsharded queues increased with more RAC instances or with more dequeuers',
    grade: 'shape',
    judge: ofType('topic', judgeA18),
  },
  {
    id: 'A19',
    title: 'Dequeuers of a sharded topic keep up',
    document: 'Dequeuers of the sharded topic keep up with its enqueuers.',
    where: 'Performance of AQ-JMS Topics (from page 7), last paragraph; no figure',
    stated: 'With Sharded Queues, dequeuers kept up with enqueueers',
    grade: 'shape',
    judge: ofType('topic', judgeA19),
  },
];
