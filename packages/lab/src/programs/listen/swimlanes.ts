/** The effects of one enqueue, as a lane for each session. */
import type { Swimlane } from '@shardlab/contract';
import type { SessionEvent } from '@shardlab/engine';

const usPerMs = 1_000;

/** The enqueuer first, then in the order in which sessions woke. Times are from the post. */
export function swimlanesOf(events: readonly SessionEvent[], enqueuer: number): Swimlane[] {
  const posted = events.find(({ session, kind }) => session === enqueuer && kind === 'posted');
  if (posted === undefined) return [];
  const us = (ms: number) => Number(((ms - posted.calledMs) * usPerMs).toFixed(1));
  const bySession = [...Map.groupBy(events, ({ session }) => session)];
  const lanes = bySession.map(([session, all]) => ({
    session,
    outcome: outcomeOf(all),
    spans: sincePost(all).map(({ kind, calledMs, gotMs, endedMs }) => ({
      kind,
      calledUs: us(calledMs),
      gotUs: us(gotMs),
      endedUs: us(endedMs),
    })),
  }));
  const firstUs = ({ session, spans }: Swimlane) =>
    session === enqueuer ? Number.NEGATIVE_INFINITY : (spans[0]?.calledUs ?? 0);
  return lanes.toSorted((a, b) => firstUs(a) - firstUs(b));
}

/**
 * The session's events since the post, found by their order and not by time, because clocks of threads differ by microseconds. A
 * session that did not wake has none.
 */
function sincePost(events: readonly SessionEvent[]): readonly SessionEvent[] {
  const first = events.findIndex(({ kind }) => kind === 'posted' || kind === 'woken');
  return first === -1 ? [] : events.slice(first);
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
