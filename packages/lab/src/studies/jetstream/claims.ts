import type { Claim } from '../study.ts';
import { judgeJ1, judgeJ2, judgeJ3 } from './judges/failover.ts';

export const claims: readonly Claim[] = [
  {
    id: 'J1',
    title: 'Three servers of which one fails lose nothing that was acknowledged',
    document:
      'A cluster of three goes on while one of them is dead or cut off; a commit is stored by a majority of the servers.',
    grade: 'prose',
    judge: judgeJ1,
    aboutIntegrity: true,
  },
  {
    id: 'J2',
    title: 'A message whose consumption was confirmed is not consumed again',
    document:
      'Confirmed by a majority: nobody gets it again. Of two holders at most one commit is confirmed.',
    grade: 'prose',
    judge: judgeJ2,
    aboutIntegrity: true,
  },
  {
    id: 'J3',
    title: 'Service is back within six seconds',
    document: 'Calls take 4 to 6 s while servers elect a leader.',
    grade: 'prose',
    judge: judgeJ3,
    weak: 'Any store that answers without keeping anything is never away.',
  },
];
