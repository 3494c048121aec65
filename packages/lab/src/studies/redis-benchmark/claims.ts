import type { Claim } from '../study.ts';
import { judgeB4 } from './judges/flow-control.ts';
import { judgeB1, judgeB2, judgeB3 } from './judges/rates.ts';

export const claims: readonly Claim[] = [
  {
    id: 'B1',
    title: 'Redis is faster than a buffered queue, which is faster than a persistent one',
    document: 'For enqueue and for dequeue Redis performs best, then buffered queues, then persistent ones.',
    where: '测试结果及结论 (results and conclusions), item 1; its two diagrams',
    stated: '性能最好的Redis,其次是Advance Queue Buffered模式,最差的是Persistent模式',
    translation: 'Redis performs best, buffered mode of Advanced Queuing next, persistent mode worst',
    grade: 'shape',
    judge: judgeB1,
    weak: 'Rates that are drawn at random are in this order for one system in twenty: nothing but the order is compared.',
  },
  {
    id: 'B2',
    title: 'A buffered queue is 4 to 5 times as fast as a persistent one',
    document: 'Of the two kinds of queues, the buffered one is 4 to 5 times as fast as the persistent one.',
    where: '测试结果及结论 (results and conclusions), item 2',
    stated: 'Buffered模式是Persistent模式的4到5倍',
    translation: 'buffered mode is 4 to 5 times persistent mode',
    grade: 'prose',
    judge: judgeB2,
  },
  {
    id: 'B3',
    title: 'The number of messages hardly changes the rate',
    document: 'The number in the queue has basically no effect on the performance of enqueue and dequeue.',
    where: '测试结果及结论 (results and conclusions), item 3; its two diagrams',
    stated: '队列的数目基本上不会影响出入队的性能',
    translation: 'the number in the queue basically does not affect the performance of enqueue and dequeue',
    grade: 'shape',
    judge: judgeB3,
    weak: 'A counter that keeps no message is as flat.',
  },
  {
    id: 'B4',
    title: 'Past its threshold a buffered queue refuses messages, and loses none of those it accepted',
    document:
      'A buffered queue holds 5,000 messages by default; past them an enqueue fails with ORA-25307. That nothing accepted is lost is our addition.',
    where: '各种模式及其优缺点 (the modes, their merits and faults), item 2',
    stated: '默认最大队列容量5000。超过此值发生“ORA-25307: Enqueue rate too high”错误',
    translation:
      'the default maximum capacity of a queue is 5000; past it comes the error “ORA-25307: Enqueue rate too high”',
    grade: 'prose',
    judge: judgeB4,
    weak: 'A counter that refuses at its threshold, and reports what it accepted as delivered, fulfils it.',
    aboutIntegrity: true,
  },
];
