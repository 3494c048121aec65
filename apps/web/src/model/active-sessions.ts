/**
 * Where sessions spend their time at each point of a run, as Oracle's active session history shows it for a database: average
 * active sessions by wait event. Points take the place of the wall clock, because a point is one load and one system.
 */
import {
  coresBusyOf,
  figureOf,
  numberParam,
  type Point,
  type ProgramInfo,
  paramInWords,
  pointKey,
  type Scenario,
} from '@shardlab/contract';
import { formatAxisCount, formatSessions } from './format.ts';
import { sweepAxis } from './sweep-axis.ts';
import { systemInWords } from './system-words.ts';

/** Sessions: average number that are in a state. Microseconds: their time there for each message delivered. */
export type ActivityUnit = 'sessions' | 'us';

export type ActivityClass = 'cpu' | 'commit' | 'concurrency' | 'configuration' | 'network';

/** One state of sessions at a point: on CPU, runnable or in a wait event. */
export interface Activity {
  name: string;
  class: ActivityClass;
  /** Average number of sessions in it. */
  sessions: number;
  /** Completed waits over all repeats; null for what is no wait event. */
  waits: number | null;
  /** Milliseconds over all repeats. */
  totalMs: number;
  p99Ms: number | null;
  emulated: boolean;
  /** Waits by duration, see `WaitSummary`; null where durations are not kept. */
  histogram: readonly number[] | null;
}

export interface PointActivity {
  key: string;
  point: Point;
  /** Value of the run's axis: "16", or "kill". */
  label: string;
  /** "16 threads" */
  words: string;
  /** Not idle, most sessions first. */
  activities: Activity[];
  /** Sum of the activities. */
  sessions: number;
  /** Average number of sessions that wait for messages, or wait by their own choice. */
  idleSessions: number;
  /** Cores that the processes keep busy, threads of writers included; null where a program does not measure it. */
  coresBusy: number | null;
  /** Messages delivered in a second; 0 if the program does not count any. */
  messagesPerSec: number;
}

/** Points that differ only in the axis, in its order. */
export interface ActivityGroup {
  /** "sharded, 2 instances" */
  title: string;
  /** The parameter whose values label the points: "threads"; empty if the points of the run differ in no parameter. */
  axisTitle: string;
  points: PointActivity[];
}

export const onCpu = 'on CPU';
/** The name that the time book, traces and the glossary use. */
export const runnable = 'runnable';
/** Background events: no session waits for them unless nothing else is ready. */
const background: readonly string[] = ['forwarding'];

export function activityOf(point: Point): Omit<PointActivity, 'label' | 'words'> {
  const measuredMs = point.repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0);
  const mean = (totalMs: number) => (measuredMs > 0 ? totalMs / measuredMs : 0);
  const ofSessions = point.waits.filter(({ event }) => !background.includes(event));
  const waits = ofSessions.filter((wait) => wait.class !== 'idle');
  const coresBusy =
    point.byInstance.cpuShare !== undefined
      ? coresBusyOf(point)
      : point.figures.cpuCores === undefined
        ? null
        : figureOf(point, 'cpuCores');
  const activities: Activity[] = [
    ...timesWithoutWait(point, mean(sum(ofSessions.map(({ totalMs }) => totalMs))), coresBusy ?? 0).map(
      (each) => ({
        ...each,
        totalMs: each.sessions * measuredMs,
      }),
    ),
    ...waits.map(({ event, class: ofClass, waits: count, totalMs, p99Ms, emulated, histogram = null }) => ({
      name: event,
      class: ofClass as ActivityClass,
      sessions: mean(totalMs),
      waits: count,
      totalMs,
      p99Ms,
      emulated,
      histogram,
    })),
  ]
    .filter(({ sessions }) => sessions > 0)
    .sort((a, b) => b.sessions - a.sessions);
  return {
    key: pointKey(point),
    point,
    activities,
    sessions: sum(activities.map(({ sessions }) => sessions)),
    idleSessions: mean(sum(ofSessions.filter((wait) => wait.class === 'idle').map(({ totalMs }) => totalMs))),
    coresBusy,
    messagesPerSec: figureOf(point, 'dequeuePerSec'),
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/**
 * Sessions on CPU, and those that are runnable. The time book gives both as shares of the sessions' time; the number of sessions
 * follows from the share that waits. Without a time book only the CPU of the processes is known.
 */
function timesWithoutWait(point: Point, waiting: number, coresBusy: number): Omit<Activity, 'totalMs'>[] {
  const entry = (name: string, sessions: number): Omit<Activity, 'totalMs'> => ({
    name,
    class: 'cpu',
    sessions,
    waits: null,
    p99Ms: null,
    emulated: false,
    histogram: null,
  });
  const waitShare = meanShare(point, 'timeWaiting') + meanShare(point, 'timeIdle');
  if (waitShare <= 0 || waiting <= 0) return [entry(onCpu, coresBusy)];
  const sessions = waiting / waitShare;
  return [
    entry(onCpu, meanShare(point, 'timeOnCpu') * sessions),
    entry(runnable, meanShare(point, 'timeRunnable') * sessions),
  ];
}

/**
 * A share of the sessions' time over all repeats, as the waits are. The value of a figure is the median of the repeats: medians of
 * shares need not add up to one, so sessions that were computed from them could be more than there are.
 */
function meanShare(point: Point, name: string): number {
  const shares = point.figures[name]?.repeats ?? [];
  if (shares.length !== point.repeats.length) return figureOf(point, name);
  const measuredMs = sum(point.repeats.map((repeat) => repeat.measuredMs));
  return sum(shares.map((share, index) => share * point.repeats[index]!.measuredMs)) / measuredMs;
}

/** The value of a number of sessions in a unit. By Little's law a session that is there all the time costs 1 s of each second's messages. */
export function inUnit(sessions: number, unit: ActivityUnit, messagesPerSec: number): number {
  if (unit === 'sessions') return sessions;
  return messagesPerSec > 0 ? (sessions * 1e6) / messagesPerSec : 0;
}

/**
 * The points of a run grouped by all parameters that vary except its axis, or the innermost one if it has no axis, in the order
 * of the run.
 */
export function activityGroups(
  points: readonly Point[],
  { sweep, program }: { sweep: Scenario['sweep']; program: ProgramInfo },
): ActivityGroup[] {
  const differing = program.parameters.filter(
    ({ name }) => new Set(points.map(({ params }) => params[name])).size > 1,
  );
  const axisName = sweepAxis(sweep, program)?.id ?? differing.at(-1)?.name;
  const axis = program.parameters.find(({ name }) => name === axisName);
  const varied = differing.filter(({ name }) => name !== axisName);
  const systems = new Set(points.map(({ system }) => system));
  const groups = new Map<string, ActivityGroup>();
  for (const point of points) {
    const words = varied.flatMap((parameter) => {
      const value = point.params[parameter.name];
      return value === undefined ? [] : [paramInWords(parameter, value)];
    });
    const title = [
      ...(systems.size > 1 || words.length === 0 ? [systemInWords(point.system)] : []),
      ...words,
    ].join(', ');
    const group = groups.get(title) ?? { title, axisTitle: axis?.title ?? '', points: [] };
    groups.set(title, group);
    const x = axis === undefined ? undefined : point.params[axis.name];
    group.points.push({
      ...activityOf(point),
      label: typeof x === 'number' ? formatAxisCount(x) : (x ?? ''),
      words: axis === undefined || x === undefined ? '' : paramInWords(axis, x),
    });
  }
  const xOf = ({ point: { params } }: PointActivity) =>
    axis === undefined ? 0 : numberParam(params, axis.name);
  for (const group of groups.values()) group.points.sort((a, b) => xOf(a) - xOf(b));
  return [...groups.values()];
}

/** Names of all activities, by the sessions that are in them over all points, most first; CPU before waits. */
export function activityOrder(
  groups: readonly { points: readonly Pick<PointActivity, 'activities'>[] }[],
): { name: string; class: ActivityClass }[] {
  const totals = new Map<string, { name: string; class: ActivityClass; sessions: number }>();
  for (const { activities } of groups.flatMap(({ points }) => points))
    for (const { name, class: ofClass, sessions } of activities) {
      const known = totals.get(name) ?? { name, class: ofClass, sessions: 0 };
      known.sessions += sessions;
      totals.set(name, known);
    }
  const rank = ({ name, class: ofClass }: { name: string; class: ActivityClass }) =>
    name === onCpu ? 0 : ofClass === 'cpu' ? 1 : 2;
  return [...totals.values()]
    .sort((a, b) => rank(a) - rank(b) || b.sessions - a.sessions)
    .map(({ name, class: ofClass }) => ({ name, class: ofClass }));
}

/** The point at which most sessions wait, the one worth explaining first; undefined without points. */
export function busiestPoint(groups: readonly ActivityGroup[]): PointActivity | undefined {
  const waiting = ({ activities }: PointActivity) =>
    sum(activities.filter((each) => each.class !== 'cpu').map(({ sessions }) => sessions));
  return groups.flatMap(({ points }) => points).toSorted((a, b) => waiting(b) - waiting(a))[0];
}

/** "unsharded, 16 threads: 30.10 of 32.00 active sessions are in write lock. 1.20 of 2 cores are busy." */
export function whyInWords(title: string, at: PointActivity, cores: number | null): string {
  const [most] = at.activities.filter((each) => each.class !== 'cpu');
  const busy =
    cores === null || at.coresBusy === null
      ? ''
      : ` ${formatSessions(at.coresBusy)} of ${cores} cores are busy.`;
  const place = [title, at.words].filter((part) => part !== '').join(', ');
  if (most === undefined) return `${place}: no session waits for another or for the disk.${busy}`;
  return `${place}: ${formatSessions(most.sessions)} of ${formatSessions(at.sessions)} active sessions are in ${most.name}${most.emulated ? ' (emulated)' : ''}.${busy}`;
}
