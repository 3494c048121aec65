/** The figures of the program `listen`, from what sessions counted in the measured window. */
import type { FigureInfo } from '@shardlab/contract';
import type { GuardStatistics, ThreadSessionStatistics } from '@shardlab/engine';
import { count, nanoseconds, ratio } from '../figure-info.ts';
import { dequeuerTimes, timeFigureInfos } from './dequeuer-times.ts';
import type { ListenResult, Snapshot } from './listen-job.ts';

/** The figures that a latch and a mutex have each. */
function guardFigures(guard: 'latch' | 'mutex', name: string): FigureInfo[] {
  const perDequeue = `per dequeue`;
  return [
    count(`${guard}GetsPerDequeue`, `Gets of the ${guard} for each dequeue`, {
      label: `${name} gets`,
      unit: `gets ${perDequeue}`,
    }),
    nanoseconds(`${guard}NsPerGet`, `Time of a get of the ${guard}, until its release`, {
      label: `Time of a ${guard} get`,
    }),
    nanoseconds(`${guard}NsPerDequeue`, `Time in gets of the ${guard} for each dequeue`, {
      label: `${name} time a dequeue`,
      unit: 'nanoseconds per dequeue',
    }),
    count(`${guard}Gets`, `Gets of the ${guard} by dequeuers`, {
      label: `${name} gets in all`,
      unit: 'gets',
    }),
    count(`${guard}Misses`, `Gets of the ${guard} that missed`, { label: `${name} misses`, unit: 'gets' }),
    count(`${guard}SpinGets`, `Gets of the ${guard} that succeeded while they spun`, {
      label: `${name} spin gets`,
      unit: 'gets',
    }),
    count(`${guard}Sleeps`, `Sleeps for the ${guard}`, { label: `${name} sleeps`, unit: 'sleeps' }),
    count(`${guard}RecurrentSleeps`, `Sleeps for the ${guard} after the first of a get`, {
      label: `${name} recurrent sleeps`,
      unit: 'sleeps',
    }),
    ratio(`${guard}WaitShare`, `Time asleep for the ${guard}`, {
      label: `${name} waits`,
      unit: 'share of the time of dequeuers that do not wait for messages',
    }),
  ];
}

export const listenFigures: readonly FigureInfo[] = [
  {
    name: 'dequeuePerSec',
    label: 'Dequeue rate',
    title: 'Dequeue rate',
    unit: 'messages per second',
    format: 'rate',
  },
  {
    name: 'dequeuePerSecOfSession',
    label: 'Rate of a session',
    title: 'Dequeue rate of a session',
    unit: 'messages per second',
    format: 'rate',
  },
  ...guardFigures('mutex', 'Mutex'),
  ...guardFigures('latch', 'Latch'),
  count('wakeUpsPerDequeue', 'Wake-ups for each dequeue', {
    label: 'Wake-ups',
    unit: 'wake-ups per dequeue',
  }),
  count('falseWakeUpsPerDequeue', 'Wake-ups for nothing for each dequeue', {
    label: 'False wake-ups',
    unit: 'wake-ups per dequeue',
  }),
  count('postsPerWakeUp', 'Posts that fall together in a wake-up', {
    label: 'Posts a wake-up',
    unit: 'posts per wake-up',
  }),
  count('pollsPerSec', 'Waits that ended with the internal poll', {
    label: 'Polls',
    unit: 'polls per second',
  }),
  ...timeFigureInfos,
  { name: 'cpuCores', label: 'CPU', title: 'CPU of the process', unit: 'cores', format: 'cores' },
  {
    name: 'preemptionsPerSec',
    label: 'Preemptions',
    title: 'Times that the kernel took a core from a thread',
    unit: 'switches per second',
    format: 'rate',
  },
];

type Sums = { [Field in keyof Omit<GuardStatistics, 'histogram' | 'maxMs'>]: number };
type CountField = Exclude<keyof ThreadSessionStatistics, 'session' | 'state' | 'latch' | 'mutex'>;

/** The work of the dequeuers in the window. */
class Window {
  readonly #before: readonly ThreadSessionStatistics[];
  readonly #after: readonly ThreadSessionStatistics[];

  constructor({ before, after, dequeuers }: ListenResult) {
    const ofDequeuers = ({ statistics }: Snapshot) =>
      statistics.sessions.filter(({ session }) => dequeuers.includes(session));
    this.#before = ofDequeuers(before);
    this.#after = ofDequeuers(after);
  }

  #sum(of: (session: ThreadSessionStatistics) => number): number {
    const total = (sessions: readonly ThreadSessionStatistics[]) =>
      sessions.reduce((sum, session) => sum + of(session), 0);
    return total(this.#after) - total(this.#before);
  }

  count(field: CountField): number {
    return this.#sum((session) => session[field]);
  }

  guard(guard: 'latch' | 'mutex', field: keyof Sums): number {
    return this.#sum((session) => session[guard][field]);
  }

  get times(): Record<string, number> {
    return dequeuerTimes(this.#before, this.#after);
  }

  histogram(guard: 'latch' | 'mutex'): number[] {
    const buckets = this.#after[0]?.[guard].histogram ?? [];
    return buckets.map((_, bucket) => this.#sum((session) => session[guard].histogram[bucket]!));
  }
}

/** Without the figures that would divide by nothing. */
export function figuresOf(result: ListenResult): Record<string, number> {
  const { before, after, dequeuers } = result;
  const window = new Window(result);
  const ms = after.atMs - before.atMs;
  const perSec = (value: number) => (value * 1_000) / ms;
  const dequeued = window.count('dequeued');
  const wakeUps = window.count('wakeUps');
  const idleMs = window.count('listenMs') + window.count('dequeueMs');
  const busyMs = dequeuers.length * ms - idleMs;
  const figures: Record<string, number> = {
    dequeuePerSec: perSec(dequeued),
    dequeuePerSecOfSession: perSec(dequeued) / dequeuers.length,
    pollsPerSec: perSec(window.count('polls')),
    cpuCores: (after.cpuUs - before.cpuUs) / 1_000 / ms,
    preemptionsPerSec: perSec(after.preemptions - before.preemptions),
    ...window.times,
  };
  for (const guard of ['latch', 'mutex'] as const) {
    const of = (field: keyof Sums) => window.guard(guard, field);
    figures[`${guard}Gets`] = of('gets');
    figures[`${guard}Misses`] = of('misses');
    figures[`${guard}SpinGets`] = of('spinGets');
    figures[`${guard}Sleeps`] = of('sleeps');
    figures[`${guard}RecurrentSleeps`] = of('recurrentSleeps');
    if (busyMs > 0) figures[`${guard}WaitShare`] = of('sleepMs') / busyMs;
    if (of('gets') > 0) figures[`${guard}NsPerGet`] = (of('totalMs') * 1e6) / of('gets');
    if (dequeued === 0) continue;
    figures[`${guard}GetsPerDequeue`] = of('gets') / dequeued;
    figures[`${guard}NsPerDequeue`] = (of('totalMs') * 1e6) / dequeued;
  }
  if (dequeued > 0) {
    figures.wakeUpsPerDequeue = wakeUps / dequeued;
    figures.falseWakeUpsPerDequeue = window.count('falseWakeUps') / dequeued;
  }
  if (wakeUps > 0) figures.postsPerWakeUp = window.count('postsTaken') / wakeUps;
  return figures;
}

/** Gets by the power of two of their nanoseconds, as the document's histograms. */
export function histogramsOf(result: ListenResult): Record<string, number[]> {
  const window = new Window(result);
  return { latchGetNs: window.histogram('latch'), mutexGetNs: window.histogram('mutex') };
}
