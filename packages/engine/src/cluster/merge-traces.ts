/** Merges the traces that several instances of a cluster recorded of the same message. */
import type { MessageTrace, SubscriberWhereabouts, TracedMessage } from '../api/message-trace.ts';

/**
 * Merges at least one trace. An instance that knows where the message is takes precedence over one that only knows that it no
 * longer has it.
 */
export function mergeTraces(traces: readonly MessageTrace[]): MessageTrace {
  const { queue, id } = traces[0]!;
  const events = traces.flatMap((trace) => trace.events).sort((a, b) => a.atMs - b.atMs);
  const whereabouts = traces.flatMap((trace) => trace.whereabouts);
  const coverages = traces.map(({ coverage }) => coverage);
  return {
    queue,
    id,
    events,
    coverage: (['complete', 'partial'] as const).find((each) => coverages.includes(each)) ?? 'none',
    whereabouts: [...Map.groupBy(whereabouts, ({ subscriber }) => subscriber).values()].flatMap(mostTelling),
    recorders: traces.flatMap((trace) => trace.recorders),
  };
}

/** Prefers an instance where the message is live to one where it was consumed. */
function mostTelling(whereabouts: readonly SubscriberWhereabouts[]): SubscriberWhereabouts[] {
  const live = whereabouts.filter(({ state }) => state !== 'unknown' && state !== 'consumed');
  if (live.length > 0) return live;
  const consumed = whereabouts.filter(({ state }) => state === 'consumed');
  return consumed.length > 0 ? consumed.slice(-1) : whereabouts.slice(0, 1);
}

export function mergeTracedMessages(lists: readonly TracedMessage[][], limit = 20): TracedMessage[] {
  const latest = new Map<string, TracedMessage>();
  for (const message of lists.flat().sort((a, b) => b.atMs - a.atMs))
    if (!latest.has(message.id)) latest.set(message.id, message);
  return [...latest.values()].slice(0, limit);
}
