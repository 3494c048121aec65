import type { QueueInfo, TracedMessage } from '@shardlab/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { tracedMessagesQuery, traceNext } from '../../api/queries.ts';
import { formatTimeOfDay } from '../../model/format.ts';
import { TextField } from '../../parts/field.tsx';
import { ErrorNotice, QueryResult } from '../../parts/query-states.tsx';
import { ScrollX } from '../../parts/scroll-x.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { MessageLife } from './message-life.tsx';

const columns = [
  { label: 'Message' },
  { label: 'Last event' },
  { label: 'At' },
  { label: 'Instance', isNumber: true },
];

/** The lives of single messages: one by its id, the next one that is enqueued, and the latest that were traced. */
export function QueueTraces({ queue: { name } }: { queue: QueueInfo }) {
  const { message } = useSearch({ from: '/queues' });
  return (
    <div className="section queue-traces">
      <div className="split split-even">
        <FindMessage key={message} queue={name} shown={message} />
        <TraceNext queue={name} />
      </div>
      {message === undefined ? null : <MessageLife queue={name} id={message} />}
      <LatestTraced queue={name} shown={message} />
    </div>
  );
}

function FindMessage({ queue, shown }: { queue: string; shown: string | undefined }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState(shown ?? '');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void navigate({
      to: '/queues',
      search: { queue, tab: 'trace', message: typed.trim() },
      resetScroll: false,
    });
  };
  return (
    <form className="panel queue-form" aria-label="Find a message" onSubmit={submit}>
      <h3>One message</h3>
      <div className="form-row form-row-end">
        <TextField label="Id" value={typed} placeholder="100.128" required onChange={setTyped} />
        <button type="submit" className="button">
          Show its life
        </button>
      </div>
    </form>
  );
}

function TraceNext({ queue }: { queue: string }) {
  const client = useQueryClient();
  const ask = useMutation({
    mutationFn: () => traceNext(queue, 1),
    onSuccess: () => client.invalidateQueries({ queryKey: ['queues', queue, 'traces'] }),
  });
  return (
    <section className="panel queue-form" aria-labelledby="trace-next">
      <h3 id="trace-next">The next message</h3>
      <p className="small muted">
        The next message that any session enqueues, on any instance. A sample of all other messages is always
        traced.
      </p>
      <div className="row">
        <button type="button" className="button" disabled={ask.isPending} onClick={() => ask.mutate()}>
          Trace the next message
        </button>
        <p className="small" role="status">
          {ask.isSuccess ? 'The next message of this queue is traced, and listed below.' : ''}
        </p>
      </div>
      {ask.error === null ? null : <ErrorNotice error={ask.error} />}
    </section>
  );
}

function LatestTraced({ queue, shown }: { queue: string; shown: string | undefined }) {
  const query = useQuery(tracedMessagesQuery(queue));
  return (
    <section className="section" aria-labelledby="latest-traced">
      <h3 id="latest-traced">Latest traced messages</h3>
      <QueryResult query={query} name="the traced messages">
        {({ messages }) =>
          messages.length === 0 ? (
            <p className="empty">No message of this queue has been traced since its instances opened.</p>
          ) : (
            <ScrollX label="Table of traced messages" framed>
              <table className="table">
                <TableHead columns={columns} />
                <tbody>
                  {messages.map((message) => (
                    <TracedRow
                      key={message.id}
                      queue={queue}
                      message={message}
                      shown={message.id === shown}
                    />
                  ))}
                </tbody>
              </table>
            </ScrollX>
          )
        }
      </QueryResult>
    </section>
  );
}

function TracedRow(props: { queue: string; message: TracedMessage; shown: boolean }) {
  const { queue, shown } = props;
  const { id, event, atMs, instance } = props.message;
  return (
    <tr>
      <td>
        <Link
          to="/queues"
          search={{ queue, tab: 'trace', message: id }}
          resetScroll={false}
          aria-current={shown ? 'true' : undefined}
        >
          {id}
        </Link>
      </td>
      <td>{event.replaceAll('-', ' ')}</td>
      <td>{formatTimeOfDay(atMs)}</td>
      <td className="number">{instance}</td>
    </tr>
  );
}
