/** What one enqueue sets off, as a lane for each session. */
import type { Swimlane } from '@shardlab/contract';
import type { SessionEvent } from '@shardlab/engine';

const usPerMs = 1_000;

/** The enqueuer first, then in the order in which sessions woke. Times are from the post. */
export function swimlanesOf(events: readonly SessionEvent[], enqueuer: number): Swimlane[] {
  const posted = events.find(({ session, kind }) => session === enqueuer && kind === 'posted');
  if (posted === undefined) return [];
  const after = events.filter(({ calledMs }) => calledMs >= posted.calledMs);
  const us = (ms: number) => Number(((ms - posted.calledMs) * usPerMs).toFixed(1));
  const lanes = [...Map.groupBy(after, ({ session }) => session)].map(([session, own]) => ({
    session,
    outcome: outcomeOf(own),
    spans: own.map(({ kind, calledMs, gotMs, endedMs }) => ({
      kind,
      calledUs: us(calledMs),
      gotUs: us(gotMs),
      endedUs: us(endedMs),
    })),
  }));
  const firstUs = ({ spans }: Swimlane) => spans[0]?.calledUs ?? 0;
  return lanes.toSorted((a, b) => firstUs(a) - firstUs(b));
}

function outcomeOf(events: readonly SessionEvent[]): Swimlane['outcome'] {
  const has = (kind: SessionEvent['kind']) => events.some((event) => event.kind === kind);
  if (has('posted')) return 'posted';
  return has('dequeued') ? 'got the message' : 'woke for nothing';
}

/** Times of all sessions' gets of one guard, microseconds. */
export function getsOf(lanes: readonly Swimlane[], guard: 'mutex' | 'latch') {
  const spans = lanes.flatMap((lane) => lane.spans.filter(({ kind }) => kind === guard));
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const held = spans.map(({ gotUs, endedUs }) => endedUs - gotUs);
  return {
    gets: spans.length,
    heldUs: sum(held),
    heldMaxUs: Math.max(0, ...held),
    waitedUs: sum(spans.map(({ calledUs, gotUs }) => gotUs - calledUs)),
  };
}
