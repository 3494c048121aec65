import type { ClusterEvent, ClusterInstance } from '@shardlab/contract';
import { useMemo } from 'react';
import { eventSentence, eventTone, processNames } from '../../model/cluster-event-text.ts';
import { formatTimeOfDay } from '../../model/format.ts';

export interface EventLogProps {
  events: readonly ClusterEvent[];
  instances: readonly ClusterInstance[];
}

/** The events of the cluster, newest first. */
export function EventLog({ events, instances }: EventLogProps) {
  const names = useMemo(() => processNames(events, instances), [events, instances]);
  const newestFirst = useMemo(() => withKeys(events).reverse(), [events]);
  return (
    <section className="section" aria-labelledby="events">
      <h2 id="events">Events</h2>
      {events.length === 0 ? (
        <p className="empty">No events yet.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <div className="panel event-list" role="log" aria-labelledby="events" tabIndex={0}>
          <ol>
            {newestFirst.map(({ key, event }) => (
              <li key={key} className="event" data-tone={eventTone(event)}>
                <time className="small muted" dateTime={new Date(event.atMs).toISOString()}>
                  {formatTimeOfDay(event.atMs)}
                </time>
                <span>{eventSentence(event, names)}</span>
              </li>
            ))}
          </ol>
        </div>
      )}
    </section>
  );
}

/** Adds a key to each event. Events of the same time, type and process are numbered. */
function withKeys(events: readonly ClusterEvent[]): { key: string; event: ClusterEvent }[] {
  const seen = new Map<string, number>();
  return events.map((event) => {
    const name = `${event.atMs}/${event.type}/${event.instance}/${event.pid}`;
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    return { key: `${name}/${count}`, event };
  });
}
