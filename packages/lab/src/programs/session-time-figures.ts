/** How the sessions of a trial spent their time, by their time books. */
import type { FigureInfo } from '@shardlab/contract';

export const sessionTimeFigures: readonly FigureInfo[] = [
  {
    name: 'timeAccounted',
    label: 'Time accounted',
    title: 'Time of the sessions that CPU, waits, idle and runnable explain',
    unit: 'share of the time of the sessions',
    format: 'ratio',
  },
  {
    name: 'timeOnCpu',
    label: 'On CPU',
    title: 'Time of the sessions on CPU',
    unit: 'share of the time of the sessions',
    format: 'ratio',
  },
  {
    name: 'timeWaiting',
    label: 'Waiting',
    title: 'Time of the sessions in wait events that are not idle',
    unit: 'share of the time of the sessions',
    format: 'ratio',
  },
  {
    name: 'timeIdle',
    label: 'Idle',
    title: 'Time of the sessions idle: for messages, or an emulated round trip',
    unit: 'share of the time of the sessions',
    format: 'ratio',
  },
  {
    name: 'timeRunnable',
    label: 'Runnable',
    title: 'Time of the sessions runnable: the wait is over, the thread is busy with others',
    unit: 'share of the time of the sessions',
    format: 'ratio',
  },
  {
    name: 'sessionCpuOfThread',
    label: 'Session CPU',
    title: 'Time of the sessions on CPU by the clock, against the CPU of their thread',
    unit: 'share of the CPU of the thread; the rest is the engine',
    format: 'ratio',
  },
];
