import type { Claim } from '../study.ts';
import { judgeB4 } from './judges/flow-control.ts';
import { judgeB1, judgeB2, judgeB3 } from './judges/rates.ts';

export const claims: readonly Claim[] = [
  {
    id: 'B1',
    title: 'Redis is faster than a buffered queue, which is faster than a persistent one',
    document: 'For enqueue and for dequeue Redis performs best, then buffered queues, then persistent ones.',
    grade: 'shape',
    judge: judgeB1,
    weak: 'Rates that are drawn at random are in this order for 6 % of the systems: nothing but the order is compared.',
  },
  {
    id: 'B2',
    title: 'A buffered queue is 4 to 5 times as fast as a persistent one',
    document: 'Of the two kinds of queues, the buffered one is 4 to 5 times as fast as the persistent one.',
    grade: 'prose',
    judge: judgeB2,
  },
  {
    id: 'B3',
    title: 'The number of messages hardly changes the rate',
    document: 'The number in the queue has basically no effect on the performance of enqueue and dequeue.',
    grade: 'shape',
    judge: judgeB3,
    weak: 'A counter that keeps no message is as flat.',
  },
  {
    id: 'B4',
    title: 'Past its threshold a buffered queue refuses messages, and loses none of those it accepted',
    document:
      'A buffered queue holds 5,000 messages by default; past them an enqueue fails with ORA-25307. That nothing accepted is lost is our addition.',
    grade: 'prose',
    judge: judgeB4,
    weak: 'A counter that refuses at its threshold, and reports what it accepted as delivered, fulfils it.',
    aboutIntegrity: true,
  },
];
