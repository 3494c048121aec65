import type { Claim } from '../study.ts';
import { judgeX3, judgeX4, judgeX5, judgeX6, judgeX7 } from './judges/branches.ts';
import { judgeX1, judgeX2 } from './judges/redo.ts';

export const claims: readonly Claim[] = [
  {
    id: 'X1',
    title: 'Two sessions on two instances do less than twice what one does, because they share the redo disk',
    document:
      'Even the second session on a second instance does not scale well, 60 instead of 80 a second: all I/O of the cluster uses the same physical disk.',
    where: '“Test 2”, Test Summary and Conclusion',
    stated:
      "= 60 TPS in total … it doesn't scale up well ( expected 80 TPS count: 80 ) … all I/O on my 3-node Virtualbox RAC system are using the same physical disk",
    grade: 'prose',
    judge: judgeX1,
    weak: 'Of rates and waits that are drawn at random, one in seven is in this order.',
  },
  {
    id: 'X2',
    title: 'A faster redo device cuts the elapsed time of two sessions on two instances about six times',
    document: '32.529 s for 2,000 inserts with the redo logs on a disk, 5.062 s with them on an SSD.',
    where: '“Test 2” and “Test results after switching to SDD disks”, output',
    stated: 'Elapsed Time=32.529 [s] … Elapsed Time=5.062 [s]',
    grade: 'table',
    judge: judgeX2,
  },
  {
    id: 'X3',
    title: 'XA on one instance halves the rate: the round trips more than double',
    document:
      'The rate dropped from 200 to 100 transactions a second, which is well explained by twice the round trips.',
    where: '“First XA test”, Conclusion',
    stated:
      'The TX rate dropped from 200 TPS to 100 TPS which is well explainable as we have doubled our Rountrips',
    grade: 'table',
    judge: judgeX3,
  },
  {
    id: 'X4',
    title:
      'Branches on two instances cut the rate to a third again, and the time in waits for the lock rises over 10 times',
    document:
      'The performance drops from 100 to 30 transactions a second; DFS lock handle waits increase from 0.32 to 10.28 s.',
    where: '“TEST XA2”, Test Summary and Conclusion',
    stated:
      'DFS lock handle waits increase dramaticalls from 0.32s to to 10.28 seconds with a max value of 1.0s … The overall performance drops from 100 TPS - when all branches pointing to the instance - to 30 TPS',
    grade: 'table',
    judge: judgeX4,
  },
  {
    id: 'X5',
    title: 'Preparing a branch on the other instance costs about 10 % more',
    document: 'Doing the prepare across instances drops the rate by around 10 %: 39.402 instead of 35.347 s.',
    where: '“TEST XA2” and “TEST XA3”, output; Conclusion of XA3',
    stated:
      'Elapsed Time=35.347 [s] … Elapsed Time=39.402 [s] … Doing the prepare and processing step cross instance drops the TPS rate by around 10 %',
    grade: 'table',
    judge: judgeX5,
  },
  {
    id: 'X6',
    title: 'A transaction with two branches takes exactly nine round trips',
    document:
      'Start, DML, end and prepare of both branches and one commit: the first prepare answers read-only and needs none.',
    where: '“First XA test”, Test Summary, table of round trips',
    stated: '9 Roundtrips per XA TX - Note above session runs 500 XA TX so 4500 RTs are well explainable',
    grade: 'table',
    judge: judgeX6,
    aboutIntegrity: true,
  },
  {
    id: 'X7',
    title: 'Only one branch of a tightly coupled transaction is active at a time',
    document:
      'All tightly coupled transactions acquire a DX enqueue while they work, so that only one branch can have SQL active at any point in time.',
    where: 'Quotation from “XA and Oracle controlled Distributed Transaction”, near the end',
    stated: 'only one branch of the transaction can have SQL active at any point in time',
    grade: 'prose',
    judge: judgeX7,
  },
];
