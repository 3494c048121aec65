/** The project's targets as claims, each with its judge. */
import { ofType } from '../../judging/of-type.ts';
import type { Claim } from '../study.ts';
import { judgeP11, judgeP16, judgeP17, judgeP18, judgeP19, judgeP20 } from './judges/bounds.ts';
import { judgeP8, judgeP9, judgeP10, judgeP14, judgeP15, judgeP25 } from './judges/comparisons.ts';
import { judgeP6, judgeP12, judgeP13 } from './judges/costs.ts';
import { judgeP1, judgeP2, judgeP3, judgeP4, judgeP5, judgeP7 } from './judges/raw-ratios.ts';
import { judgeP21, judgeP22, judgeP23, judgeP24 } from './judges/rest.ts';

/** For claims about rates, latencies and sizes that are only compared with numbers. */
const counted: Pick<Claim, 'weak'> = {
  weak: 'A counter in memory that keeps no message has such figures: nothing else is compared.',
};

/** A target is stated in our own words: here, and in short where the document lists its scenarios. */
const target = (
  id: string,
  title: string,
  document: string,
  judge: Claim['judge'],
  rest: Pick<Claim, 'weak'> = {},
): Claim => ({
  id,
  title,
  document,
  where: 'docs/benchmarks.md, table of the scenarios',
  stated: document,
  grade: 'prose',
  judge,
  ...rest,
});

export const claims: readonly Claim[] = [
  target(
    'P1',
    'Ten messages a transaction: 0.75 of what SQLite inserts alone',
    'On two instances, 32 + 32 sessions that commit ten messages at a time dequeue at 0.75 R.',
    ofType('queue', judgeP1),
  ),
  target(
    'P2',
    'A thousand messages a transaction: 0.8 of what SQLite inserts alone',
    'On two instances, 4 + 4 sessions that commit a thousand messages at a time dequeue at 0.8 R.',
    ofType('queue', judgeP2),
  ),
  target(
    'P3',
    'One message a transaction: 0.22 of what SQLite inserts alone',
    'On one instance, 32 + 32 sessions that commit one message at a time dequeue at 0.22 R.',
    ofType('queue', judgeP3),
  ),
  target(
    'P4',
    'One session commits half as often as SQLite alone',
    'One session that enqueues one message a transaction commits at half the rate of the raw loop with one row a transaction.',
    judgeP4,
    counted,
  ),
  target(
    'P5',
    'A topic of ten subscribers delivers three times what SQLite inserts alone',
    'On two instances, ten subscribers of a topic together receive at 3 R.',
    ofType('topic', judgeP5),
  ),
  target(
    'P6',
    'The unsharded queue needs four times the CPU',
    'With ten messages a transaction on one instance, a message costs four times the CPU unsharded.',
    ofType('queue', judgeP6),
  ),
  target(
    'P7',
    'The unsharded queue does 0.7 of what SQLite does alone',
    'The unsharded queue, a baseline that must be no straw man, dequeues at 0.7 of the raw loop that inserts, selects and deletes with the same transactions, whether each session commits for itself or one writer commits for all.',
    ofType('queue', judgeP7),
  ),
  target(
    'P8',
    'The unsharded queue is at least as fast as plainjob',
    'With every size of transactions the unsharded queue dequeues at least as fast as plainjob, synced.',
    judgeP8,
    counted,
  ),
  target(
    'P9',
    'One and a half to three times as fast as servers that sync',
    'With 1, 10 and 1,000 messages a transaction our remote sessions dequeue 1.5, 2.5 and 3 times as fast as the best server that syncs before it acknowledges, while others enqueue.',
    judgeP9,
    counted,
  ),
  target(
    'P10',
    'As fast as any server',
    'With every size of transactions our remote sessions dequeue as fast as the best server at any durability.',
    judgeP10,
    counted,
  ),
  target(
    'P11',
    'A backlog of ten million messages costs little',
    'With ten million messages in the queue the rate is 0.8 of that with ten thousand.',
    judgeP11,
    counted,
  ),
  target(
    'P12',
    'Enqueues keep pace with dequeues',
    'On two instances with ten messages a transaction, enqueues are 0.95 of dequeues.',
    ofType('queue', judgeP12),
    { weak: 'A system that its clients pace enqueues and dequeues at the same rate, whatever it is.' },
  ),
  target(
    'P13',
    'A further subscriber is cheap',
    'A delivery to one of ten subscribers costs a third of the CPU of one to a single subscriber.',
    ofType('topic', judgeP13),
  ),
  target(
    'P14',
    'The median latency is that of the best synced server',
    'At 500 messages a second, sent at intended times, our remote sessions have at most the median latency of the best server that syncs.',
    judgeP14,
    counted,
  ),
  target(
    'P15',
    'The 99th percentile of the latency is that of the best synced server',
    'At 500 messages a second our remote sessions have at most the 99th percentile of the best server that syncs.',
    judgeP15,
    counted,
  ),
  target(
    'P16',
    'The session thread is free at half load',
    'At half of the maximum rate, timers of the session thread are at most 5 ms late (99th percentile).',
    judgeP16,
    counted,
  ),
  target(
    'P17',
    'The session thread is free at half load with a slow disk',
    'The same with syncs that take 20 ms longer, and 512 + 512 sessions.',
    judgeP17,
    counted,
  ),
  target(
    'P18',
    'The session thread is free with one session',
    'The same while one session enqueues one message a transaction.',
    judgeP18,
    counted,
  ),
  target(
    'P19',
    'A backlog of ten million messages fits into 512 MiB',
    'With ten million messages in the queue the process has at most 512 MiB resident, with the load generator.',
    judgeP19,
    counted,
  ),
  target(
    'P20',
    'Ready five seconds after a kill with ten million messages',
    'A process that opens the files of a killed one with ten million messages serves within five seconds.',
    judgeP20,
    counted,
  ),
  target(
    'P21',
    'A durable enqueue over REST costs little more than its validation',
    'With 64 connections, and 1 and 100 messages a call, the enqueue route answers 0.7 of the requests of a route that only validates the same body.',
    judgeP21,
    counted,
  ),
  target(
    'P22',
    '150,000 messages a second over REST in batches',
    'With 64 connections the enqueue route commits 150,000 messages a second, of 512 bytes and 100 a call.',
    judgeP22,
    counted,
  ),
  target(
    'P23',
    'A second instance raises what REST moves',
    'With 100 messages a call the server enqueues and dequeues more on two instances than on one.',
    judgeP23,
    counted,
  ),
  target(
    'P24',
    'Dequeues over REST keep pace with enqueues',
    'With 100 messages a call the server dequeues and acknowledges at least as fast as it enqueues, on one and on two instances.',
    judgeP24,
    counted,
  ),
  target(
    'P25',
    'Enqueues alone are as fast as those of servers that sync',
    'With every size of transactions our remote sessions enqueue, while nobody dequeues, as fast as the best server that syncs before it acknowledges.',
    judgeP25,
    counted,
  ),
];
