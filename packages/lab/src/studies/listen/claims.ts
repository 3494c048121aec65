import type { Claim } from '../study.ts';
import { judgeL5, judgeL8, judgeL9, judgeL10 } from './judges/cases.ts';
import { judgeL4, judgeL7 } from './judges/methods.ts';
import { judgeL1, judgeL2, judgeL3, judgeL6 } from './judges/pairs.ts';

export const claims: readonly Claim[] = [
  {
    id: 'L1',
    title: 'Listening, all dequeues together rise up to 8 pairs of sessions and fall after that',
    document: 'Total dequeue throughput rises up to 8 parallel sessions, where it has its maximum.',
    grade: 'shape',
    judge: judgeL1,
    weak: 'Rates that are drawn at random are highest there for a third of the systems.',
  },
  {
    id: 'L2',
    title: 'Gets of latch and mutex for each dequeue rise about linearly with the sessions',
    document: 'Latch gets and mutex gets per dequeue increase almost linearly with the parallel sessions.',
    grade: 'shape',
    judge: judgeL2,
  },
  {
    id: 'L3',
    title: 'Past 8 pairs, the time in gets for each dequeue grows faster than the sessions',
    document:
      'The time of latch and mutex gets per dequeue increases much faster past 8 sessions: from 16 to 32 the mutex takes 3.36 times as long.',
    grade: 'shape',
    judge: judgeL3,
  },
  {
    id: 'L4',
    title: 'A dequeue by name takes no latch of the channel, and waits a fraction for the mutex',
    document:
      'Ten listens take 30 gets of the child latch, ten subscriber dequeues none; 80 and 80 sessions wait 9,539 s for the mutex when they listen and 3,235 s when they do not.',
    grade: 'prose',
    judge: judgeL4,
  },
  {
    id: 'L5',
    title: 'The four cases take exactly the locks, pins, latch gets and mutex gets that were traced',
    document:
      'A message that is there takes 2 locks, 3 pins, 3 latch gets and 18 mutex gets; one that is waited for 4, 5, 9 and 30; after one for another 6, 7, 15 and 42; a time-out 2, 2, 3 and 12.',
    grade: 'prose',
    judge: judgeL5,
    aboutIntegrity: true,
  },
  {
    id: 'L6',
    title: 'M dequeues among N listening sessions take 12·N·M gets of the mutex and 6·N·M of the latch',
    document:
      'MGets = 12·N·M, LGets = 6·N·M; for 64 sessions 37,059,072 latch gets are computed and 43,999,351 counted.',
    grade: 'prose',
    judge: judgeL6,
  },
  {
    id: 'L7',
    title:
      'Copies of the hot object cut the waits for the mutex; subscribers instead of listen remove the latch',
    document:
      'To mitigate the mutex, mark the queue object hot (254 copies); to work around the latch, use a subscriber instead of listen.',
    grade: 'prose',
    judge: judgeL7,
    weak: 'Waits that are drawn at random are fewer with the copies in half of all cases: nothing but the order is compared.',
  },
  {
    id: 'L8',
    title:
      'A queue has at most 1,024 subscribers; unknown recipients get temporary ones, of which 1,024 stay',
    document:
      'At most 1,024 subscribers, then ORA-24067. 1,035 unknown recipients became temporary subscribers, of which 1,024 are listed.',
    grade: 'prose',
    judge: judgeL8,
  },
  {
    id: 'L9',
    title:
      "A listener wakes for nothing: for another's message, or one that another has dequeued and not committed",
    document:
      'Listen can wake falsely if several sessions wait and one message arrives, and returns a false positive when another session has an uncommitted dequeue.',
    grade: 'prose',
    judge: judgeL9,
  },
  {
    id: 'L10',
    title: 'A listener polls each second, a dequeue by name every three',
    document: 'strace shows an internal time-out of 1 second for listen and of 3 seconds for a subscriber.',
    grade: 'prose',
    judge: judgeL10,
  },
];
