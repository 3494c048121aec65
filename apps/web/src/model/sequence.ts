/**
 * A sequence diagram as data: the calls between participants, and the activity of each in between. The input of the sequence
 * chart for all studies.
 */
import type { Point, SequenceLane } from '@shardlab/contract';

export interface SequenceParticipant {
  id: string;
  label: string;
}

/** A call with its answer. Times are in one unit, from the start of the transaction. */
export interface SequenceCall {
  from: string;
  to: string;
  /** "prepare" */
  name: string;
  sentAt: number;
  receivedAt: number;
  answeredAt: number;
  returnedAt: number;
  /** "read-only"; empty for a plain answer. */
  answer: string;
}

/** An activity of a participant during a part of the time. */
export interface SequenceInterval {
  participant: string;
  from: number;
  to: number;
  /** A wait event, or "on CPU". */
  event: string;
  emulated: boolean;
}

export interface SequenceDiagram {
  participants: readonly SequenceParticipant[];
  calls: readonly SequenceCall[];
  intervals: readonly SequenceInterval[];
  /** Unit of all times. */
  unit: 'us' | 'ms';
}

/** The traced transaction of a point; empty for programs that trace none. */
export const tracedIn = ({ sequence = [] }: Point): readonly SequenceLane[] => sequence;

/** Whether the lane is the caller of the branches: a coordinator, or the application itself. */
const isCaller = ({ name }: SequenceLane): boolean => name === 'coordinator';

/** Calls of the branches, made by the coordinator or, without one, by the application. */
export function sequenceOf(lanes: readonly SequenceLane[]): SequenceDiagram {
  const caller = lanes.find(isCaller)?.name ?? 'application';
  const called = lanes.filter((lane) => !isCaller(lane));
  return {
    participants: [
      { id: caller, label: caller },
      // "branch 1: session 1 on instance 1" is too long for a column.
      ...called.map(({ name }) => ({ id: name, label: name.split(':')[0]! })),
    ],
    calls: called.flatMap(({ name: to, calls }) =>
      calls.map(({ name, fromUs, toUs }) => ({
        from: caller,
        to,
        name,
        sentAt: fromUs,
        receivedAt: fromUs,
        answeredAt: toUs,
        returnedAt: toUs,
        answer: '',
      })),
    ),
    intervals: called.flatMap(({ name: participant, states }) =>
      states.map(({ name: event, fromUs, toUs, emulated }) => ({
        participant,
        from: fromUs,
        to: toUs,
        event,
        emulated,
      })),
    ),
    unit: 'us',
  };
}

export interface SequenceRow {
  at: number;
  kind: 'call' | 'answer';
  call: SequenceCall;
  /** CSS pixels from the top. */
  y: number;
}

/** CSS pixels between two messages, at least, so that their labels do not overlap. */
export const rowMin = 26;

/**
 * Vertical positions. Messages are a row apart at least, and the time between them is drawn to scale only where it is longer:
 * a microsecond and a disk's sync are both seen. `yOf` maps any time, piecewise linear between messages.
 */
export function layoutSequence(diagram: SequenceDiagram, options: { top: number; pxMax: number }) {
  const { calls, intervals } = diagram;
  const messages = calls
    .flatMap((call): Omit<SequenceRow, 'y'>[] => [
      { at: call.sentAt, kind: 'call', call },
      { at: call.answeredAt, kind: 'answer', call },
    ])
    .sort((a, b) => a.at - b.at);
  const last = Math.max(
    0,
    ...messages.map(({ at }) => at),
    ...intervals.map(({ to }) => to),
    ...calls.map(({ returnedAt }) => returnedAt),
  );
  const perTime = last > 0 ? options.pxMax / last : 0;
  const anchors: { at: number; y: number }[] = [];
  let y = options.top;
  let before = 0;
  const rows = messages.map((message): SequenceRow => {
    y += Math.max(rowMin, (message.at - before) * perTime);
    before = message.at;
    anchors.push({ at: message.at, y });
    return { ...message, y };
  });
  const end = y + Math.max(rowMin, (last - before) * perTime);
  anchors.push({ at: last, y: end });
  const yOf = (at: number): number => {
    const index = anchors.findIndex((anchor) => anchor.at >= at);
    if (index === -1) return end;
    const next = anchors[index]!;
    const previous = anchors[index - 1] ?? { at: 0, y: options.top };
    if (next.at === previous.at) return next.y;
    return previous.y + ((next.y - previous.y) * (at - previous.at)) / (next.at - previous.at);
  };
  return { rows, yOf, height: end };
}

/** Time of each event over all participants, longest first. */
export function sequenceTotals({ intervals }: SequenceDiagram): { event: string; total: number }[] {
  const totals = new Map<string, number>();
  for (const { event, from, to } of intervals) totals.set(event, (totals.get(event) ?? 0) + to - from);
  return [...totals].map(([event, total]) => ({ event, total })).sort((a, b) => b.total - a.total);
}
