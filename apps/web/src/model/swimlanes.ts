/** Lanes over time: what each of several did, as spans and moments. The input of the swimlane chart, whatever the study. */
import type { Swimlane } from '@shardlab/contract';
import { formatMs } from './format.ts';

/** Which colour: of a wait, of a hold, of a thing that is done, of an outcome. */
export type LaneTone = 'waits' | 'holds' | 'works' | 'gap' | 'good' | 'bad' | 'neutral';

export interface LaneSpan {
  from: number;
  to: number;
  tone: LaneTone;
  /** "waits for the mutex" */
  name: string;
}

export interface LaneMoment {
  at: number;
  tone: LaneTone;
  name: string;
}

export interface Lane {
  id: string;
  label: string;
  /** How it ended for this lane, at its right end; empty for nothing. */
  outcome: string;
  outcomeTone: LaneTone;
  spans: readonly LaneSpan[];
  moments: readonly LaneMoment[];
}

const guards: readonly string[] = ['mutex', 'latch'];

/** The lanes of one enqueue and all who wake for it. Times are microseconds from the post. */
export function herdLanes(swimlanes: readonly Swimlane[]): Lane[] {
  return swimlanes.map(({ session, outcome, spans }) => ({
    id: String(session),
    label: outcome === 'posted' ? 'enqueuer' : `session ${session}`,
    outcome: outcome === 'posted' ? '' : outcome,
    outcomeTone: outcome === 'got the message' ? 'good' : 'neutral',
    spans: spans
      .filter(({ kind }) => guards.includes(kind))
      .flatMap(({ kind, calledUs, gotUs, endedUs }): LaneSpan[] => [
        ...(gotUs > calledUs
          ? [{ from: calledUs, to: gotUs, tone: 'waits' as const, name: `waits for the ${kind}` }]
          : []),
        {
          from: gotUs,
          to: Math.max(gotUs, endedUs),
          tone: kind === 'mutex' ? 'holds' : 'works',
          name: `holds the ${kind}`,
        },
      ]),
    moments: spans
      .filter(({ kind }) => !guards.includes(kind))
      .map(({ kind, endedUs }) => ({
        at: endedUs,
        tone: kind === 'dequeued' ? 'good' : 'neutral',
        name: kind,
      })),
  }));
}

/** Holder of a latch or mutex and number of waiters, from one change to the next. */
export interface Holding {
  fromUs: number;
  toUs: number;
  /** Null while it is free. */
  holder: string | null;
  waiters: number;
}

/**
 * Holder and waiters of a guard over time. Where there are several guards of a kind (copies of a hot object) two may hold at
 * once: the first is named.
 */
export function holdings(lanes: readonly Lane[], guard: 'mutex' | 'latch'): Holding[] {
  const spansOf = (name: string) =>
    lanes.flatMap((lane) =>
      lane.spans.filter((span) => span.name === name).map((span) => ({ ...span, label: lane.label })),
    );
  const held = spansOf(`holds the ${guard}`);
  const waits = spansOf(`waits for the ${guard}`);
  const times = [...new Set([...held, ...waits].flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  return times.slice(0, -1).map((fromUs, index) => {
    const toUs = times[index + 1]!;
    const covers = ({ from, to }: { from: number; to: number }) => from <= fromUs && to >= toUs;
    return {
      fromUs,
      toUs,
      holder: held.find(covers)?.label ?? null,
      waiters: waits.filter(covers).length,
    };
  });
}

/**
 * "24 sessions woke, 23 for nothing, until 1.2 ms after the post. One got the message, 900 µs after the post. The mutex was held
 * for 800 µs in all, and at most 7 waited for it at once."
 */
export function herdInWords(swimlanes: readonly Swimlane[]): string {
  const lanes = herdLanes(swimlanes);
  const woken = swimlanes.filter(({ outcome }) => outcome !== 'posted');
  const idle = woken.filter(({ outcome }) => outcome === 'woke for nothing');
  const after = (us: number) => `${formatMs(us / 1_000)} after the post`;
  const idleUntil =
    idle.length === 0
      ? ''
      : `, until ${after(Math.max(0, ...idle.flatMap(({ spans }) => spans.map(({ endedUs }) => endedUs))))}`;
  const delivered = swimlanes.flatMap(({ spans }) => spans).find(({ kind }) => kind === 'dequeued');
  const gotIt = delivered === undefined ? '' : ` One got the message, ${after(delivered.endedUs)}.`;
  const held = lanes
    .flatMap(({ spans }) => spans.filter(({ name }) => name === 'holds the mutex'))
    .reduce((sum, { from, to }) => sum + to - from, 0);
  const most = holdings(lanes, 'mutex')
    .filter(({ holder }) => holder !== null)
    .toSorted((a, b) => b.waiters - a.waiters)[0];
  const crowd =
    most === undefined || most.waiters === 0
      ? 'no session waited for it'
      : `at most ${most.waiters} waited for it at once`;
  return `${woken.length} ${woken.length === 1 ? 'session' : 'sessions'} woke, ${idle.length} for nothing${idleUntil}.${gotIt} The mutex was held for ${formatMs(held / 1_000)} in all, and ${crowd}.`;
}

/** A period in which one instance owned a service. */
export interface OwnershipPeriod {
  instance: number;
  /** Rises with each owner, so that an earlier one can no longer write. */
  epoch: number;
  /** Milliseconds from the start. */
  fromMs: number;
  toMs: number;
  /** Why it ended: "killed", "stopped", "hung"; empty if it did not. */
  ended: string;
}

/** A lane for each instance, with a gap lane that shows when nobody owned the service. Times are milliseconds. */
export function ownershipLanes(periods: readonly OwnershipPeriod[], instances: readonly number[]): Lane[] {
  const sorted = periods.toSorted((a, b) => a.fromMs - b.fromMs);
  const gaps = sorted.slice(1).flatMap((period, index): LaneSpan[] => {
    const before = sorted[index]!;
    return period.fromMs > before.toMs
      ? [{ from: before.toMs, to: period.fromMs, tone: 'gap', name: 'no owner' }]
      : [];
  });
  const lane = (id: string, label: string, spans: LaneSpan[], moments: LaneMoment[]): Lane => ({
    id,
    label,
    outcome: '',
    outcomeTone: 'neutral',
    spans,
    moments,
  });
  return [
    ...instances.map((instance) => {
      const owned = sorted.filter((period) => period.instance === instance);
      return lane(
        String(instance),
        `instance ${instance}`,
        owned.map(({ fromMs, toMs, epoch }) => ({
          from: fromMs,
          to: toMs,
          tone: 'holds' as const,
          name: `epoch ${epoch}`,
        })),
        owned
          .filter(({ ended }) => ended !== '')
          .map(({ toMs, ended }) => ({ at: toMs, tone: 'bad' as const, name: ended })),
      );
    }),
    lane('gaps', 'no owner', gaps, []),
  ];
}

/** Whether the lanes are of instances that had a service, and not of sessions that woke for a message. */
export const isOfService = (swimlanes: readonly Swimlane[]): boolean => serviceLanes(swimlanes) !== null;

/** Lanes of instances whose spans are the epochs in which each had a service; null if these are no such lanes. */
export function serviceLanes(swimlanes: readonly Swimlane[]): Lane[] | null {
  const usPerMs = 1_000;
  const periods = swimlanes.flatMap(({ session, spans }) =>
    spans.flatMap(({ kind, gotUs, endedUs }): OwnershipPeriod[] => {
      const epoch = /^epoch (\d+)$/.exec(kind)?.[1];
      return epoch === undefined
        ? []
        : [
            {
              instance: session,
              epoch: Number(epoch),
              fromMs: gotUs / usPerMs,
              toMs: endedUs / usPerMs,
              ended: '',
            },
          ];
    }),
  );
  if (periods.length === 0) return null;
  return ownershipLanes(
    periods,
    swimlanes.map(({ session }) => session),
  );
}

/** "4 owners in 12 s; 3 gaps, the longest 600 ms." */
export function ownershipInWords(lanes: readonly Lane[]): string {
  const spans = lanes.flatMap((lane) => lane.spans);
  const gaps = spans.filter(({ tone }) => tone === 'gap').map(({ from, to }) => to - from);
  const owners = spans.filter(({ tone }) => tone === 'holds').length;
  const end = Math.max(0, ...spans.map(({ to }) => to));
  const longest = gaps.length === 0 ? '' : `, the longest ${formatMs(Math.max(...gaps))}`;
  return `${owners} ${owners === 1 ? 'owner' : 'owners'} in ${formatMs(end)}; ${gaps.length} ${gaps.length === 1 ? 'gap' : 'gaps'}${longest}.`;
}
