import type { MessageOut } from '@shardlab/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { browseQuery, dequeue, dropQueue, enqueue } from '../api/queries.ts';
import { plural } from '../model/format.ts';
import { MessageList } from './message-list.tsx';
import { Failure } from './page-states.tsx';

const browseLimit = 20;

/** One queue: put messages in, take them out, look at what waits, drop it. */
export function QueueConsole({ name }: { name: string }) {
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: ['queues'] });
  return (
    <section className="section queue-console" aria-label={`Queue ${name}`}>
      <div className="section-head">
        <h2>{name}</h2>
        <DropQueue name={name} />
      </div>
      <div className="split split-even">
        <EnqueueForm name={name} onDone={refresh} />
        <DequeueForm name={name} onDone={refresh} />
      </div>
      <Browse name={name} />
    </section>
  );
}

interface FormProps {
  name: string;
  onDone(): Promise<void>;
}

function EnqueueForm({ name, onDone }: FormProps) {
  const [text, setText] = useState('{ "hello": "world" }');
  const [copies, setCopies] = useState('1');
  const send = useMutation({
    mutationFn: () =>
      enqueue(
        name,
        Array.from({ length: Math.max(1, Number(copies)) }, () => ({ payload: payloadOf(text) })),
      ),
    onSuccess: onDone,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send.mutate();
  };
  return (
    <form className="panel queue-form" aria-label="Enqueue" onSubmit={submit}>
      <h3>Enqueue</h3>
      <label className="field">
        <span>Payload: JSON, or plain text</span>
        <textarea
          className="input"
          rows={3}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <div className="form-row">
        <label className="field">
          <span>Copies, in one transaction</span>
          <input
            className="input"
            type="number"
            min={1}
            max={1000}
            value={copies}
            onChange={(event) => setCopies(event.target.value)}
          />
        </label>
        <button type="submit" className="button button-primary" disabled={send.isPending}>
          Enqueue
        </button>
      </div>
      <p className="small" role="status">
        {send.data === undefined ? '' : `${plural(send.data.ids.length, 'message')} committed.`}
      </p>
      {send.error === null ? null : <Failure error={send.error} />}
    </form>
  );
}

/** JSON where the text is JSON, else the text itself as a JSON string. */
function payloadOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function DequeueForm({ name, onDone }: FormProps) {
  const [max, setMax] = useState('1');
  const [taken, setTaken] = useState<MessageOut[] | null>(null);
  const take = useMutation({
    mutationFn: () => dequeue(name, Math.max(1, Number(max))),
    onSuccess: async ({ messages }) => {
      setTaken(messages);
      await onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    take.mutate();
  };
  return (
    <form className="panel queue-form" aria-label="Dequeue" onSubmit={submit}>
      <h3>Dequeue</h3>
      <p className="small muted">Consumed before the answer is sent: at most once.</p>
      <div className="form-row">
        <label className="field">
          <span>At most</span>
          <input
            className="input"
            type="number"
            min={1}
            max={1000}
            value={max}
            onChange={(event) => setMax(event.target.value)}
          />
        </label>
        <button type="submit" className="button button-primary" disabled={take.isPending}>
          Dequeue
        </button>
      </div>
      {take.error === null ? null : <Failure error={take.error} />}
      <div role="status">
        {taken === null ? null : taken.length === 0 ? (
          <p className="small">The queue had no message ready.</p>
        ) : (
          <MessageList messages={taken} label="Dequeued messages" />
        )}
      </div>
    </form>
  );
}

function Browse({ name }: { name: string }) {
  const messages = useQuery(browseQuery(name, browseLimit));
  return (
    <section className="section" aria-labelledby="browse">
      <div className="section-head">
        <h3 id="browse">What waits</h3>
        <p className="small muted">Browsing consumes and holds nothing. The first {browseLimit}.</p>
      </div>
      {messages.error === null ? null : <Failure error={messages.error} />}
      {messages.data === undefined ? null : messages.data.messages.length === 0 ? (
        <p className="empty">The queue is empty.</p>
      ) : (
        <MessageList messages={messages.data.messages} label="Messages in the queue" />
      )}
    </section>
  );
}

function DropQueue({ name }: { name: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const navigate = useNavigate();
  const client = useQueryClient();
  const drop = useMutation({
    mutationFn: () => dropQueue(name),
    onSuccess: async () => {
      dialog.current?.close();
      await navigate({ to: '/queues', search: {} });
      await client.invalidateQueries({ queryKey: ['queues'] });
    },
  });
  return (
    <>
      <button type="button" className="button button-danger" onClick={() => dialog.current?.showModal()}>
        Drop queue
      </button>
      <dialog ref={dialog} className="dialog" aria-labelledby="drop-title">
        <div className="dialog-body">
          <h2 id="drop-title">Drop {name}?</h2>
          <p>The queue and all messages in it are deleted. This cannot be undone.</p>
          {drop.error === null ? null : <Failure error={drop.error} />}
          <div className="row">
            <button type="button" className="button" onClick={() => dialog.current?.close()}>
              Keep it
            </button>
            <button
              type="button"
              className="button button-danger"
              disabled={drop.isPending}
              onClick={() => drop.mutate()}
            >
              Drop it
            </button>
          </div>
        </div>
      </dialog>
    </>
  );
}
