/** Holders and waiters of a wait event's resource: samples of a trial as lanes, words and a table. */
import type { EventHolders, Point } from '@shardlab/contract';
import type { DataTable } from './data-table.ts';
import { formatCount, formatMs, formatValue, plural } from './format.ts';
import type { Lane, LaneSpan } from './swimlanes.ts';

/** More lanes than this cannot be read as a picture. */
const lanesMax = 16;

/** A point's records of an event: one for all instances, or one for each. */
export const holdersOf = ({ holders = [] }: Pick<Point, 'holders'>, event: string): EventHolders[] =>
  holders.filter((record) => record.event === event);

/** Average duration of a hold; null if no hold began and ended in the window. */
export const meanHoldMs = ({ holds, heldMs }: EventHolders): number | null =>
  holds === 0 ? null : heldMs / holds;

/**
 * A lane for each session, at most 16: those that hold or wait most often. Before them is a lane for holders that are not
 * sessions. Times are milliseconds from the start of the measured window; a sample stands for the time until the next one.
 */
export function holderLanes(record: EventHolders): Lane[] {
  const { sessions, samples, event } = record;
  const others = samples.map(({ holder }) => (typeof holder === 'string' ? holder : null));
  const shown = mostSeen(record);
  return [
    ...(others.some((name) => name !== null)
      ? [
          laneOf(
            'holder',
            'holder',
            spansOf(record, (index) => others[index] ?? null, 'holds'),
          ),
        ]
      : []),
    ...shown.map((session) =>
      laneOf(sessions[session]!, shortName(sessions[session]!), [
        ...spansOf(
          record,
          (index) => (samples[index]!.waiting[session] === '1' ? `waits: ${event}` : null),
          'waits',
        ),
        ...spansOf(record, (index) => (samples[index]!.holder === session ? 'has it' : null), 'holds'),
      ]),
    ),
  ];
}

/** Indexes of the sessions that have a lane, in the order of the record. */
function mostSeen({ sessions, samples }: EventHolders): number[] {
  const held = new Map<number, number>();
  for (const { holder } of samples)
    if (typeof holder === 'number') held.set(holder, (held.get(holder) ?? 0) + 1);
  const waited = (session: number) => samples.filter(({ waiting }) => waiting[session] === '1').length;
  return sessions
    .map((_, session) => ({ session, held: held.get(session) ?? 0, waited: waited(session) }))
    .toSorted((a, b) => b.held - a.held || b.waited - a.waited)
    .slice(0, lanesMax)
    .map(({ session }) => session)
    .toSorted((a, b) => a - b);
}

/** "deq. 2.3", which is whole on a phone too. */
const shortName = (session: string): string => session.replace(/^(enq|deq)ueuer/, '$1.');

const laneOf = (id: string, label: string, spans: LaneSpan[]): Lane => ({
  id,
  label,
  outcome: '',
  outcomeTone: 'neutral',
  spans,
  moments: [],
});

/** Samples in a row with the same name are one span. */
function spansOf(
  { samples, everyMs }: EventHolders,
  nameAt: (index: number) => string | null,
  tone: LaneSpan['tone'],
): LaneSpan[] {
  const spans: LaneSpan[] = [];
  for (const [index] of samples.entries()) {
    const name = nameAt(index);
    if (name === null) continue;
    const from = index * everyMs;
    const last = spans.at(-1);
    if (last?.name === name && last.to === from) last.to = from + everyMs;
    else spans.push({ from, to: from + everyMs, tone, name });
  }
  return spans;
}

const holderName = ({ sessions, samples }: EventHolders, index: number): string | null => {
  const holder = samples[index]?.holder ?? null;
  return typeof holder === 'number' ? sessions[holder]! : holder;
};

/** "In 93 % of 250 samples a holder was seen. A median of 54 sessions waited, at most 61. It was held 6,112 times, for 812 µs on average." */
export function holdersInWords(record: EventHolders): string {
  const { samples, holds } = record;
  const held = samples.filter(({ holder }) => holder !== null).length;
  const waiters = samples.map((sample) => sample.waiters).toSorted((a, b) => a - b);
  const median = waiters[Math.floor(waiters.length / 2)] ?? 0;
  const mean = meanHoldMs(record);
  const times =
    mean === null ? '' : ` It was held ${plural(holds, 'time')}, for ${formatMs(mean)} on average.`;
  return `In ${formatValue((held / Math.max(1, samples.length)) * 100)} % of ${plural(samples.length, 'sample')} a holder was seen. A median of ${plural(median, 'session')} waited, at most ${formatCount(waiters.at(-1) ?? 0)}.${times}`;
}

/** "1.24 s after the start of the window: dequeuer 1.4 has it, 54 wait." */
export function momentInWords(record: EventHolders, timeMs: number): string {
  const index = Math.min(record.samples.length - 1, Math.floor(timeMs / record.everyMs));
  const when = timeMs < record.everyMs ? 'At' : `${formatMs(timeMs)} after`;
  const waiters = record.samples[index]?.waiters ?? 0;
  const holder = holderName(record, index);
  return `${when} the start of the window: ${holder === null ? 'it is free' : `${holder} has it`}, ${formatCount(waiters)} ${waiters === 1 ? 'waits' : 'wait'}.`;
}

/** A row for each sample, with the names of all that it knows. */
export function holdersTable(record: EventHolders): DataTable {
  const { sessions, samples, everyMs } = record;
  return {
    columns: ['Time (ms)', 'Holder', 'Waiters', 'Who waits'],
    rows: samples.map(({ waiters, waiting }, index) => [
      index * everyMs,
      holderName(record, index),
      waiters,
      sessions.filter((_, session) => waiting[session] === '1').join(', '),
    ]),
  };
}
