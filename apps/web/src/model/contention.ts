/**
 * The states of a queue's sessions: on a core, or waiting, by class (at a moment) or by event (over a point). Averages: time
 * waited ÷ time elapsed.
 */
import {
  coresBusyOf,
  numberParam,
  type Params,
  type Point,
  type Tick,
  type WaitClass,
} from '@shardlab/contract';
import { holdersOf, meanHoldMs } from './event-holders.ts';
import { formatCount, formatMs, formatValue, plural } from './format.ts';
import { systemInWords } from './system-words.ts';

/** Pauses that the lab itself imposes on its sessions. They say nothing about a queue. */
const imposed: readonly string[] = ['flow control', 'client round trip', 'retry pause'];
/** The whole call of a remote session; its parts are waits of their own. */
const enclosing = 'server call';

export interface EventSessions {
  event: string;
  class: WaitClass;
  /** Average number of sessions that wait for it. */
  sessions: number;
}

/** Narrower than the active sessions of `activityOf`: runnable ones and pauses that the lab imposes do not count. */
export interface QueueSessions {
  /** Working, or waiting for the queue. */
  total: number;
  /** Cores that the instances keep busy. */
  cores: number;
  /** Longest first. */
  waits: EventSessions[];
}

/** Over the measured window of a point, all repeats together. */
export function queueSessions(point: Pick<Point, 'waits' | 'repeats' | 'byInstance'>): QueueSessions {
  const measuredMs = point.repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0);
  const cores = coresBusyOf(point);
  const waits = point.waits
    .filter((wait) => wait.class !== 'idle' && !imposed.includes(wait.event) && wait.event !== enclosing)
    .map((wait) => ({
      event: wait.event,
      class: wait.class,
      sessions: measuredMs > 0 ? wait.totalMs / measuredMs : 0,
    }))
    .sort((a, b) => b.sessions - a.sessions);
  return { total: cores + waits.reduce((sum, { sessions }) => sum + sessions, 0), cores, waits };
}

/** The sessions of one instance at a moment. */
export interface InstanceSessions {
  instance: number;
  cores: number;
  /** Average sessions in waits of each class since the previous tick. */
  commit: number;
  concurrency: number;
  configuration: number;
  network: number;
}

export interface SessionsNow {
  system: string;
  /** Enqueuers and dequeuers of the trial, over all instances. */
  sessions: number;
  dequeuePerSec: number;
  instances: InstanceSessions[];
}

export function sessionsAt(tick: Tick): SessionsNow {
  const sessions = sessionsOf(tick.params);
  // A wait is counted when it ends, so after a long one the average of a short span exceeds the sessions there are.
  const most = sessions / Math.max(1, tick.instances.length);
  const average = (waitMs: number | undefined, spanMs: number) =>
    Math.min(most, (waitMs ?? 0) / Math.max(1, spanMs));
  return {
    system: tick.system,
    sessions,
    dequeuePerSec: tick.instances.reduce((sum, { dequeuePerSec }) => sum + dequeuePerSec, 0),
    instances: tick.instances.map(({ instance, spanMs, cpu, waitMsByClass: waitMs }) => ({
      instance,
      cores: cpu,
      commit: average(waitMs.commit, spanMs),
      concurrency: average(waitMs.concurrency, spanMs),
      configuration: average(waitMs.configuration, spanMs),
      network: average(waitMs.network, spanMs),
    })),
  };
}

/** An enqueuer has one dequeuer, of a topic one for each subscriber. A program without a number of threads has one of each. */
function sessionsOf(params: Params): number {
  const dequeuers = Math.max(1, numberParam(params, 'subscribers'));
  return Math.max(1, numberParam(params, 'threads')) * (1 + dequeuers);
}

/**
 * Why one queue is slower than the other, or what limits the only one, from the waits at their points:
 * "With 4 instances and 32 threads, of 62 sessions working or waiting for the unsharded queue, 55 wait for the write lock; 0.84 of
 * 2 cores are busy." Null if there were none. `points` have the same parameters; `cores`: of the machine, null if unknown.
 */
export function whySentence(points: readonly Point[], cores: number | null): string | null {
  const place = points[0] === undefined ? '' : placeOf(points[0].params);
  const active = points.map((point) => ({ point, ...queueSessions(point) })).filter(({ total }) => total > 0);
  const sentences = active.map(({ point, total, cores: busy, waits }, index) => {
    const which = `${index === 0 ? 'sessions working or waiting for' : 'for'} the ${queueName(point.system)}`;
    const of = `${index === 0 && place !== '' ? 'of' : 'Of'} ${rounded(total)} ${which}`;
    const share = `${rounded(busy)}${cores === null ? '' : ` of ${cores}`} cores are busy`;
    const [top] = waits;
    if (top === undefined || top.sessions < noticeable) return `${of}, none waits; ${share}.`;
    const number = rounded(top.sessions);
    const files = point.system === 'sharded' && top.class === 'commit' ? filesOf(point.params) : '';
    return `${of}, ${number} ${number === '1' ? 'waits' : 'wait'} for ${inSentence(top.event)}${files}${holdOf(point, top.event)}; ${share}.`;
  });
  return sentences.length === 0 ? null : `${place}${sentences.join(' ')}`;
}

/** ", which is held for 812 µs at a time" where a session holds it and that was recorded. */
function holdOf(point: Point, event: string): string {
  const [record] = holdersOf(point, event).filter(({ instance }) => instance === null);
  const ms = record === undefined ? null : meanHoldMs(record);
  return ms === null ? '' : `, which is held for ${formatMs(ms)} at a time`;
}

/** Fewer average sessions than this are rounded to none. */
const noticeable = 0.005;

/** "With 4 instances and 32 threads, "; empty for a program without them. */
function placeOf(params: Params): string {
  const [instances, threads] = [numberParam(params, 'instances'), numberParam(params, 'threads')];
  return instances > 0 && threads > 0
    ? `With ${plural(instances, 'instance')} and ${plural(threads, 'thread')}, `
    : '';
}

/** Instances of a sharded queue commit each to a file of their own. */
function filesOf(params: Params): string {
  const instances = numberParam(params, 'instances');
  return instances > 1 ? `, in ${instances} files at once` : '';
}

/** This event reads as a noun with an article; the others are names. */
const inSentence = (event: string): string => (event === 'write lock' ? 'the write lock' : `“${event}”`);

const queueName = (system: string): string => `${systemInWords(system)} queue`;

/** Whole from 10 on, else two digits. */
const rounded = (sessions: number): string =>
  sessions >= 10 ? formatCount(sessions) : formatValue(Number(sessions.toPrecision(2)));
