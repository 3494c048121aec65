/** The figures of the program `listen-cases`. */
import type { FigureInfo } from '@shardlab/contract';
import { count, milliseconds } from '../figure-info.ts';

const stages = { waiting: ' while it waits', woken: ' after a wake-up for nothing', '': '' } as const;
const counted = [
  { name: 'locks', words: 'Locks of the metadata object' },
  { name: 'pins', words: 'Pins of the metadata object' },
  { name: 'latchGets', words: 'Gets of the latch' },
  { name: 'mutexGets', words: 'Gets of the mutex' },
] as const;

const stageFigures = Object.entries(stages)
  .toReversed()
  .flatMap(([stage, when]) =>
    counted.map(({ name, words }) =>
      count(stage === '' ? name : `${stage}${name[0]!.toUpperCase()}${name.slice(1)}`, `${words}${when}`),
    ),
  );

export const listenCaseFigures: readonly FigureInfo[] = [
  ...stageFigures,
  count('falseWakeUps', 'Wake-ups for nothing'),
  count('timedOut', 'Time-outs with LISTEN_TIMEOUT'),
  count('told', 'Listens that named the subscriber'),
  count('dequeuedNothing', 'Dequeues that found nothing of what a listen had named'),
  milliseconds('listenPollMs', 'Time from poll to poll of a listen'),
  milliseconds('dequeuePollMs', 'Time from poll to poll of a dequeue by name'),
  count('temporaryMade', 'Temporary subscribers made'),
  count('temporaryKept', 'Temporary subscribers kept'),
  count('subscribersRefused', 'Subscribers past the limit that were refused'),
];
