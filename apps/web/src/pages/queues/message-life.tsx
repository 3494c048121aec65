import type { MessageTrace } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { messageTraceQuery } from '../../api/queries.ts';
import { coverageSentence, recorderSentence, whereaboutsSentence } from '../../model/message-life.ts';
import { LifeEvents } from '../../parts/life-events.tsx';
import { QueryResult } from '../../parts/query-states.tsx';

/** One message's life: why it waits now, and each recorded event in order, with time and place. */
export function MessageLife({ queue, id }: { queue: string; id: string }) {
  const query = useQuery(messageTraceQuery(queue, id));
  return (
    <section className="panel message-life" aria-labelledby="message-life">
      <h3 id="message-life">Message {id}</h3>
      <QueryResult query={query} name="the trace of the message">
        {(trace) => (
          <>
            <Whereabouts trace={trace} />
            <LifeEvents events={trace.events} times="of day" />
            <p className="small muted">
              {coverageSentence(trace)} {recorderSentence(trace.recorders)}
            </p>
          </>
        )}
      </QueryResult>
    </section>
  );
}

function Whereabouts({ trace: { whereabouts } }: { trace: MessageTrace }) {
  return (
    <ul className="whereabouts" aria-label="Where it is now">
      {whereabouts.map((where) => (
        <li key={`${where.instance} ${where.subscriber}`}>
          <p className="row">
            <span className="badge" data-tone={tones[where.state]}>
              {names[where.state]}
            </span>
            <span className="small muted">
              {where.subscriber === undefined ? '' : `for ${where.subscriber}, `}instance {where.instance}
            </span>
          </p>
          <p>{whereaboutsSentence(where)}</p>
        </li>
      ))}
    </ul>
  );
}

const names = {
  uncommitted: 'Not committed',
  ready: 'Ready',
  held: 'In flight',
  delayed: 'Delayed',
  consumed: 'Consumed',
  unknown: 'Unknown',
} as const;

const tones = {
  uncommitted: 'finding',
  ready: 'good',
  held: 'live',
  delayed: 'finding',
  consumed: 'good',
  unknown: 'bad',
} as const;
