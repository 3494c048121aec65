import type { SubscriberInfo } from '@shardlab/contract';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { subscribe, unsubscribe } from '../../api/queries.ts';
import { formatCount, formatMs } from '../../model/format.ts';
import { subscribeFields } from '../../model/queue-form-fields.ts';
import { CheckField, TextField } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { ScrollX } from '../../parts/scroll-x.tsx';
import { useFormFaults } from '../../parts/use-form-faults.ts';

export interface TopicSubscribersProps {
  topic: string;
  subscribers: readonly SubscriberInfo[];
  /** The subscriber for whom the console dequeues and browses. */
  selected: string | undefined;
  onSelect(name: string): void;
  onDone(): Promise<void>;
}

/** The subscribers of a topic, with the backlog and lag of each. */
export function TopicSubscribers(props: TopicSubscribersProps) {
  const { topic, subscribers, selected, onSelect, onDone } = props;
  return (
    <section className="section" aria-labelledby="subscribers">
      <h3 id="subscribers">Subscribers</h3>
      {subscribers.length === 0 ? (
        <p className="notice">No subscribers: messages enqueued now are not delivered.</p>
      ) : (
        <ScrollX label={`Backlog by subscriber of ${topic}`} framed>
          <table className="table queue-list">
            <thead>
              <tr>
                <th scope="col">Subscriber</th>
                <th scope="col" className="number">
                  Backlog
                </th>
                <th scope="col" className="number">
                  Held
                </th>
                <th scope="col" className="number">
                  Lag
                </th>
                <th scope="col">
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {subscribers.map((subscriber) => (
                <tr key={subscriber.name} data-selected={subscriber.name === selected ? '' : undefined}>
                  <th scope="row">
                    <button
                      type="button"
                      className="link"
                      aria-pressed={subscriber.name === selected}
                      onClick={() => onSelect(subscriber.name)}
                    >
                      {subscriber.name}
                    </button>{' '}
                    {subscriber.durable ? null : <span className="tag">nondurable</span>}
                  </th>
                  <td className="number">{formatCount(subscriber.backlog)}</td>
                  <td className="number">{formatCount(subscriber.held)}</td>
                  <td className="number">{formatMs(subscriber.lagMs)}</td>
                  <td>
                    <Unsubscribe topic={topic} name={subscriber.name} onDone={onDone} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
      <SubscribeForm topic={topic} onDone={onDone} />
    </section>
  );
}

function Unsubscribe({ topic, name, onDone }: { topic: string; name: string; onDone(): Promise<void> }) {
  const remove = useMutation({ mutationFn: () => unsubscribe(topic, name), onSettled: onDone });
  return (
    <>
      <button
        type="button"
        className="button button-quiet"
        aria-label={`Unsubscribe ${name}`}
        title="Also deletes its unconsumed messages"
        disabled={remove.isPending}
        onClick={() => remove.mutate()}
      >
        Unsubscribe
      </button>
      {remove.error === null ? null : <ErrorNotice error={remove.error} />}
    </>
  );
}

function SubscribeForm({ topic, onDone }: { topic: string; onDone(): Promise<void> }) {
  const [name, setName] = useState('');
  const [durable, setDurable] = useState(true);
  const add = useMutation({
    mutationFn: () => subscribe(topic, { name, durable }),
    onSuccess: () => {
      setName('');
      return onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  const { form, fault, rest } = useFormFaults(add.error, subscribeFields);
  return (
    <form ref={form} className="panel queue-form" aria-label="Subscribe" noValidate onSubmit={submit}>
      <div className="form-row form-row-end">
        <TextField
          label="Name of a new subscriber"
          value={name}
          required
          fault={fault('name')}
          onChange={setName}
        />
        <button type="submit" className="button" disabled={add.isPending}>
          Subscribe
        </button>
      </div>
      <CheckField checked={durable} fault={fault('durable')} onChange={setDurable}>
        Durable: keeps its position across restarts, even without a consumer
      </CheckField>
      {rest === null ? null : <ErrorNotice error={rest} />}
    </form>
  );
}
