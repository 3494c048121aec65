import type { Claim } from '../study.ts';
import { judgeJ1, judgeJ2, judgeJ3 } from './judges/failover.ts';
import { judgeJ4, judgeJ5, judgeJ6 } from './judges/power-cuts.ts';
import { judgeJ7, judgeJ8, judgeJ9, judgeJ10 } from './judges/rates.ts';

const jepsen = 'Jepsen, NATS 2.12.1 (December 2025):';
const losesAll = 'A store that keeps nothing loses what it acknowledged, too.';

export const claims: readonly Claim[] = [
  {
    id: 'J1',
    title: 'Three servers of which one fails lose nothing that was acknowledged',
    document:
      'A cluster of three goes on while one of them is dead or cut off; a commit is stored by a majority of the servers.',
    where: 'docs/distributed.md, the example at its top',
    stated: 'stored by a majority of the servers; stored once, even if the answer is lost',
    grade: 'prose',
    judge: judgeJ1,
    aboutIntegrity: true,
  },
  {
    id: 'J2',
    title: 'A message whose consumption was confirmed is not consumed again',
    document:
      'Confirmed by a majority: nobody gets it again. Of two holders at most one commit is confirmed.',
    where: 'docs/distributed.md, the example at its top; What each store promises',
    stated: 'confirmed by a majority: nobody gets it again … of both holders at most one commit is confirmed',
    grade: 'prose',
    judge: judgeJ2,
    aboutIntegrity: true,
    weak: 'A store that delivers nothing doubles nothing.',
  },
  {
    id: 'J3',
    title: 'Service is back within six seconds',
    document: 'Calls take 4 to 6 s while servers elect a leader.',
    where: 'docs/distributed.md, What changes for the application',
    stated: 'Calls take 4 to 6 s while servers elect a leader',
    grade: 'prose',
    judge: judgeJ3,
    weak: 'Any store that answers without keeping anything is never away.',
  },
  {
    id: 'J4',
    title: 'Without syncing, a power cut of all servers loses what was acknowledged',
    document: `${jepsen} with the default of a sync every two minutes, coordinated power failures lose acknowledged messages.`,
    where: 'docs/distributed.md, Three servers; Power cuts',
    stated: 'A power cut of all machines loses up to two minutes of acknowledged messages',
    grade: 'prose',
    judge: judgeJ4,
    aboutIntegrity: true,
    weak: losesAll,
  },
  {
    id: 'J5',
    title: 'Without syncing, the power cut of one server can lose what was acknowledged',
    document: `${jepsen} the crash of one machine, with the suspension or partition of another, loses acknowledged messages.`,
    where: 'docs/distributed.md, Three servers; Power cuts',
    stated: 'that of a single one can lose them too: with another server cut off',
    grade: 'prose',
    judge: judgeJ5,
    aboutIntegrity: true,
    weak: losesAll,
  },
  {
    id: 'J6',
    title: 'With synced acknowledgements neither power cut loses anything',
    document: '`sync_interval: always` ends that.',
    where: 'docs/distributed.md, Three servers',
    stated: '`sync_interval: always` ends that',
    grade: 'prose',
    judge: judgeJ6,
    aboutIntegrity: true,
  },
  {
    id: 'J7',
    title: 'Synced acknowledgements cost part of the rate',
    document: 'A sync before each acknowledgement costs part of the rate.',
    where: 'docs/distributed.md, What it costs',
    stated: 'a sync before each acknowledgement costs part of the rate',
    grade: 'shape',
    judge: judgeJ7,
  },
  {
    id: 'J8',
    title: 'Three replicas cost part of the rate',
    document: 'So does each further replica.',
    where: 'docs/distributed.md, What it costs',
    stated: 'so does each further replica',
    grade: 'shape',
    judge: judgeJ8,
  },
  {
    id: 'J9',
    title: 'Our engine in a process of its own is faster than three synced servers',
    document:
      'Our engine in a process of its own, which replicates nothing, is faster than three servers that sync.',
    where: 'docs/distributed.md, What it costs',
    stated:
      'our engine in a process of its own, which replicates nothing, is faster than three servers that sync',
    grade: 'shape',
    judge: judgeJ9,
    weak: 'Any queue that replicates nothing is faster.',
  },
  {
    id: 'J10',
    title: 'A backlog does not slow the servers',
    document: 'A backlog hardly slows the servers.',
    where: 'docs/distributed.md, What it costs',
    stated: 'a backlog hardly slows the servers',
    grade: 'shape',
    judge: judgeJ10,
    weak: 'A counter that keeps no message is as flat.',
  },
];
