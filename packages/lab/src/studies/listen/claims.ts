import type { Claim } from '../study.ts';
import { judgeL5, judgeL8, judgeL9, judgeL10 } from './judges/cases.ts';
import { judgeL4, judgeL7 } from './judges/methods.ts';
import { judgeL1, judgeL2, judgeL3, judgeL6 } from './judges/pairs.ts';

export const claims: readonly Claim[] = [
  {
    id: 'L1',
    title: 'Listening, all dequeues together rise up to 8 pairs of sessions and fall after that',
    document: 'Total dequeue throughput rises up to 8 parallel sessions, where it has its maximum.',
    where: 'Post III, section 3, below the tables',
    stated:
      'total dequeue throughput (Total_MSGs) is linearly increased with number of Parallel Sessions till 8 Parallel Sessions with maximum reached (Total_MSGs = 52,152)',
    grade: 'shape',
    judge: judgeL1,
    weak: 'Rates that are drawn at random are highest there for a third of the systems.',
  },
  {
    id: 'L2',
    title: 'Gets of latch and mutex for each dequeue rise about linearly with the sessions',
    document: 'Latch gets and mutex gets per dequeue increase almost linearly with the parallel sessions.',
    where: 'Post III, section 3, tables “Latch Stats” and “Muext Stats”',
    stated:
      'Total number of Latch GETS (Total_Latch_Gets) and Mutex GETs (Total_Mutex_Gets) per dequeue are almost linearly increased with number of Parallel Sessions',
    grade: 'shape',
    judge: judgeL2,
  },
  {
    id: 'L3',
    title: 'Past 8 pairs, the time in gets for each dequeue grows faster than the sessions',
    document:
      'The time of latch and mutex gets per dequeue increases much faster past 8 sessions: from 16 to 32 the mutex takes 3.36 times as long.',
    where: 'Post III, section 3, below the tables',
    stated:
      'compare Mutex_ns_per_Deq for Parallel 32 vs. 16, number of Parallel Sessions increased 2 times, but duration increased more than 3 times (4,738,855/1,411,417 = 3.36)',
    grade: 'shape',
    judge: judgeL3,
  },
  {
    id: 'L4',
    title: 'A dequeue by name takes no latch of the channel, and waits a fraction for the mutex',
    document:
      'Ten listens take 30 gets of the child latch, ten subscriber dequeues none; 80 and 80 sessions wait 9,539 s for the mutex when they listen and 3,235 s when they do not.',
    where: 'Post I, sections 2.1 and 2.2; post II, section 3',
    stated:
      'library cache: mutex X 4,075,073 9538.6 … library cache: mutex X 1,070,942 3235 … Each RUN needs 3 latch GETs. For dequeue with subscriber, no such latch is needed',
    grade: 'prose',
    judge: judgeL4,
  },
  {
    id: 'L5',
    title: 'The four cases take exactly the locks, pins, latch gets and mutex gets that were traced',
    document:
      'A message that is there takes 2 locks, 3 pins, 3 latch gets and 18 mutex gets; one that is waited for 4, 5, 9 and 30; after one for another 6, 7, 15 and 42; a time-out 2, 2, 3 and 12.',
    where: 'Post II, sections 1.1 to 1.4',
    stated:
      '[ LOCK: 2, PIN: 3, LATCH: 3, MUTEX: 18 ] … [ LOCK: 4, PIN: 5, LATCH: 9, MUTEX: 30 ] … [ LOCK: 6, PIN: 7, LATCH: 15, MUTEX: 42 ] … [ LOCK: 2, PIN: 2, LATCH: 3, MUTEX: 12 ]',
    grade: 'prose',
    judge: judgeL5,
    aboutIntegrity: true,
  },
  {
    id: 'L6',
    title: 'M dequeues among N listening sessions take 12·N·M gets of the mutex and 6·N·M of the latch',
    document:
      'MGets = 12·N·M, LGets = 6·N·M; for 64 sessions 37,059,072 latch gets are computed and 43,999,351 counted.',
    where: 'Post II, sections 2.1 and 2.3',
    stated:
      'MGets = 12 * N * M LGets = 6 * N * M … 6 * 64 * 96,508 = 37,059,072 … Estimation Error = 43,999,351 - 40,293,887 = 3,705,464 (8.42%)',
    grade: 'prose',
    judge: judgeL6,
  },
  {
    id: 'L7',
    title:
      'Copies of the hot object cut the waits for the mutex; subscribers instead of listen remove the latch',
    document:
      'To mitigate the mutex, mark the queue object hot (254 copies); to work around the latch, use a subscriber instead of listen.',
    where: 'Post III, section 4',
    stated: 'alter system set "_kgl_hot_object_copies"= 254 … we use subscriber instead of dbms_aq.listen',
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
    where: 'Post III, section 4',
    stated:
      'maximum 1024 kept even 1035 created … The maximum number of subscribers per queue is 1024 … ORA-24067: exceeded maximum number of subscribers',
    grade: 'prose',
    judge: judgeL8,
  },
  {
    id: 'L9',
    title:
      "A listener wakes for nothing: for another's message, or one that another has dequeued and not committed",
    document:
      'Listen can wake falsely if several sessions wait and one message arrives, and returns a false positive when another session has an uncommitted dequeue.',
    where: 'Post I, section 3.3, comments in listen_deq',
    stated:
      'dbms_aq.listen can have false wakeup if two or more sessions are waiting with dbms_aq.listen … listen call will return a false positive when another session has an uncommitted dequeue on a multi-consumer queue',
    grade: 'prose',
    judge: judgeL9,
  },
  {
    id: 'L10',
    title: 'A listener polls each second, a dequeue by name every three',
    document: 'strace shows an internal time-out of 1 second for listen and of 3 seconds for a subscriber.',
    where: 'Post II, section 4',
    stated:
      'dequeue waiting with dbms_aq.listen, we can see that the internal timeout of 1 second ("{1, 0}") … dequeue waiting with subscriber … semtimedop(9928704, [{63, -1, 0}], 1, {3, 0})',
    grade: 'prose',
    judge: judgeL10,
  },
];
